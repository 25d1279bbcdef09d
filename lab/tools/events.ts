/** What happens to a tool while it is provided. */
export interface ToolEvent {
  tool: string;
  /** `cached` from an earlier run; `building`, several times; then `built` or `failed`. */
  state: "cached" | "building" | "built" | "failed";
  /** One line for people: a path, what is being waited for, or the error. */
  detail: string;
  /** Seconds since the build began, or that it took. */
  seconds?: number;
}

/** Receives the events of one or more tools. */
export type OnToolEvent = (event: ToolEvent) => void;

/** Tool events as lines for people. What was there already is not worth one. */
export function narrateTools(say: (line: string) => void): OnToolEvent {
  return ({ tool, state, detail, seconds = 0 }) => {
    if (state !== "cached") say(`${tool}: ${state} ${seconds.toFixed(0)} s ${detail}`);
  };
}
