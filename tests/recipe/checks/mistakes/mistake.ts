import type { CheckId } from "../../../../components/recipe/checks";
import type { Severity } from "../../../../components/recipe/rules/finding";
import type { ChangedStack } from "../../stacks";

/** Name of a check, or of the parser of a stack's shape, which runs before all checks. */
type CheckOrShape = CheckId | "shape";

/** A finding of a check on a stack. */
export interface ExpectedFinding {
  check: CheckOrShape;
  /** The finding's field of the stack. */
  field: string;
  /** Default: the finding refuses the stack. */
  severity?: Exclude<Severity, "refused">;
  /** Parts of the finding in the form that users read, at least one. */
  says: [string, ...string[]];
}

/** A stack with a single mistake, or with something about which a check warns or gives a note. */
export interface Mistake extends Omit<ChangedStack, "change"> {
  /** Default: none, if the base stack itself has the warning or note. */
  change?: string;
  /** All findings that refuse the stack, and some of its warnings and notes. */
  findings: ExpectedFinding[];
}

/** Mistakes by the check that finds them, or the first of several checks. */
export type Mistakes = Partial<Record<CheckOrShape, Mistake[]>>;
