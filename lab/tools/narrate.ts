import type { OnToolEvent } from "./events";

/** Seconds between two signs of life of a build where lines stay: a log need not show each. */
const quietSeconds = 30;

/**
 * Tool events as lines for people. A terminal that shows the latest line only gets all of them; a log gets the beginning,
 * the end, and a line now and then. What was there already is not worth one.
 */
export function narrateTools(say: (line: string) => void, terminal: boolean): OnToolEvent {
  let next = 0;
  return ({ tool, state, detail, seconds = 0 }) => {
    if (state === "cached" || state === "found") return;
    if (state === "building" && !terminal && seconds < next && seconds > 0.9) return;
    next = state === "building" ? seconds + quietSeconds : 0;
    say(`${tool}: ${state} ${seconds.toFixed(0)} s ${detail}`);
  };
}
