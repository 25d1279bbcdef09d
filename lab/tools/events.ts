/** Events of a tool while it is provided. */
export interface ToolEvent {
  /** Name of the tool; several names if the event is about a refusal for several tools. */
  tool: string;
  /**
   * `cached` from an earlier run; `downloading`, then `downloaded` or `refused`; `building`, several times; then
   * `built` or `failed`. After `refused`, the tool is built.
   */
  state: "cached" | "downloading" | "downloaded" | "refused" | "building" | "built" | "failed";
  /** One line for the user: a path, the reason for waiting, or the error. */
  detail: string;
  /** Seconds since the build or download began; at its end, its duration. */
  seconds?: number;
}

/** Receives the events of one or more tools. */
export type OnToolEvent = (event: ToolEvent) => void;

/** Tool events as lines for people. An existing tool gets no line. */
export function narrateTools(say: (line: string, weight?: "kept" | "event") => void): OnToolEvent {
  return ({ tool, state, detail, seconds = 0 }) => {
    if (state === "refused")
      say(
        `${tool}: built from source, since no release can be downloaded (${detail}); TALOS_GPU_LAB_RELEASES=none turns downloads off`,
      );
    else if (state !== "cached")
      say(
        `${tool}: ${state} ${seconds.toFixed(0)} s ${detail}`,
        state === "failed" ? "kept" : "event",
      );
  };
}
