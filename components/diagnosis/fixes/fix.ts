import type { FixId } from "../fix-ids";
import type { Plan } from "../../recipe/types";

/** Something that this package does because a system on Talos fails without it. */
export interface Fix extends UnnamedFix {
  /** Name. */
  id: FixId;
}

/** A fix as its area says it; its name is its key there. */
export interface UnnamedFix {
  /** What is done. */
  does: string;
  /** What is seen without it. */
  symptom: string;
  cause: string;
  source: string;
  /** Whether a stack's plan needs it. */
  usedBy(plan: Plan): boolean;
  /** Name of the check that refuses a stack without it at preview; absent where only the running system shows it. */
  check?: string;
  /** What to do where a stack of this package has the fix and the failure is seen all the same; absent where somebody must have undone it. */
  inForce?: string;
  /** What the failure prints, word for word, for those who search for it. `…` stands for what differs. */
  errors?: string[];
}

/** Some of the fixes, by name. */
export type Fixes = Partial<Record<FixId, UnnamedFix>>;

/** Whether a machine of the stack has a GPU. */
export const hasGpu = (plan: Plan): boolean => plan.machines.some((machine) => machine.gpuCount > 0);
