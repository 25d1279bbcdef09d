/** What came of a case. */
export interface Outcome {
  /** Whether it was as it must be; undefined where it could not be tried. */
  held: boolean | undefined;
  /** What was seen, or why it was not tried: one sentence. */
  seen: string;
}

/** The outcome of a case that was as it must be. `seen`: what shows it, one sentence. */
export const held = (seen: string): Outcome => ({ held: true, seen });
/** The outcome of a case that was not as it must be. `seen`: what was seen instead, one sentence. */
export const wrong = (seen: string): Outcome => ({ held: false, seen });
/** The outcome of a case that could not be tried. `why`: the reason, one sentence. */
export const untried = (why: string): Outcome => ({ held: undefined, seen: why });
