import type { CheckId } from "../../../../components/recipe/checks";
import type { Severity } from "../../../../components/recipe/rules/finding";
import type { ChangedStack } from "../../stacks";

/** Name of a check, or of the reader of a stack's shape, which comes before all checks. */
type CheckOrShape = CheckId | "shape";

/** What a check says of a stack. */
export interface ExpectedFinding {
  check: CheckOrShape;
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
export type Mistakes = Partial<Record<CheckOrShape, Mistake[]>>;
