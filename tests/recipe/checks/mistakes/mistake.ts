import type { ChangedStack } from "../../stacks";

/** What a check says of a mistake. */
export interface ExpectedFinding {
  /** Name of the check. */
  check: string;
  /** Field of the stack that the finding names. */
  field: string;
  /** Parts of the finding, as users read it; one at least. */
  says: [string, ...string[]];
}

/** A stack that is right but for one mistake. */
export interface Mistake extends ChangedStack {
  /** Everything that is found. */
  findings: ExpectedFinding[];
}

/** Mistakes by the check that finds them, or the first of several checks. */
export type Mistakes = Record<string, Mistake[]>;
