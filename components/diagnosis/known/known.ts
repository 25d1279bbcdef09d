import type { Plan } from "../../recipe/types";
import type { Evidence } from "../evidence";
import type { FixId } from "../fix-ids";
import type { Observations } from "../observations";
import type { System } from "../system";

/** Something that is known to go wrong on Talos. */
interface Known {
  /** What is seen. */
  symptom: string;
  cause: string;
  source: string;
  /** What it prints, word for word, for those who search for it. `…` stands for what differs. */
  errors?: string[];
}

/** What a system fails by without something that this package does. */
export interface UnnamedFix extends Known {
  /** What is done. */
  does: string;
  /** Whether a stack's plan needs it. */
  usedBy(plan: Plan): boolean;
  /** Name of the check that refuses a stack without it at preview; absent where only the running system shows it. */
  check?: string;
  /** What to do where a stack of this package has the fix and the failure is seen all the same; absent where somebody must have undone it. */
  inForce?: string;
  /** What was seen that speaks for its lack, empty when nothing does. */
  sign: (seen: Observations, system: System) => Evidence[];
  /** Fixes whose signs are seen too when this one lacks, and which are then not told, of the same machine. Default none. */
  causes?: readonly FixId[];
}

/** The same with its name. */
export interface Fix extends UnnamedFix {
  id: FixId;
}

/** Some of the fixes, by name. */
export type Fixes = Partial<Record<FixId, UnnamedFix>>;

/** What no fix of a stack prevents: somebody, or another program, has to bring it about. */
export interface Cause extends Known {
  remedy: string;
  errors: string[];
  /** What is printed, in every release's form. */
  texts: RegExp;
  /** What else tells of it, one line each. */
  signs?: (seen: Observations) => string[];
}

/** Whether a machine of the stack has a GPU. */
export const hasGpu = (plan: Plan): boolean => plan.machines.some((machine) => machine.gpuCount > 0);
