import type { Severity } from "../../../../components/recipe/rules/finding";
import type { ChangedStack } from "../../stacks";

/** What a check says of a stack. */
export interface ExpectedFinding {
  /** Name of the check. */
  check: string;
  /** Field of the stack that the finding names. */
  field: string;
  /** Default: it refuses the stack. */
  severity?: Exclude<Severity, "refused">;
  /** Parts of the finding, as users read it; one at least. */
  says: [string, ...string[]];
}

/** A stack that is right but for one mistake, or that a check warns of or notes something about. */
export interface Mistake extends Omit<ChangedStack, "change"> {
  /** Default: none, where the stack itself has the warning or note. */
  change?: string;
  /** Everything that refuses the stack, and of its warnings and notes at least these. */
  findings: ExpectedFinding[];
}

/** Mistakes by the check that finds them, or the first of several checks. */
export type Mistakes = Record<string, Mistake[]>;
