import type { Plan } from "../../recipe/types";
import type { Evidence } from "../evidence";
import type { Observations } from "../observations";
import type { System } from "../system";

/** A known failure on Talos. */
interface Known {
  /** Symptom of the failure. */
  symptom: string;
  cause: string;
  source: string;
  /** Literal error messages, for readers who search for them. `…` replaces parts that vary. */
  errors?: string[];
}

/**
 * A fix that this package makes, the failure without the fix, and the observations that show that the fix is missing.
 * `Id` is the type of the fixes' names.
 */
export interface FixRecord<Id extends string> extends Known {
  /** The fix, as a clause that can follow `make sure that`. */
  does: string;
  /**
   * Name of the check that, during a preview, refuses a stack without the fix; absent if only the running system shows
   * that the fix is missing.
   */
  check?: string;
  /**
   * Remedy if the stack's plan has the fix and the failure appears nevertheless. Absent if only a change by hand can
   * have removed the fix; the remedy then says so.
   */
  inForce?: string;
  /** Whether a stack's plan needs the fix. */
  usedBy: (plan: Plan) => boolean;
  /** Observations that show that the fix is missing; empty if there are none. */
  sign: (observations: Observations, system: System) => Evidence[];
  /**
   * Fixes whose signs also appear if this fix is missing. If this fix is missing on a machine, the signs of those fixes
   * on that machine are not reported. `all` stands for every other fix. Default none.
   */
  hides?: readonly Id[] | "all";
  /**
   * Set if a machine without this fix has no driver or no container runtime, so that error messages of the machine's
   * pods are only consequences.
   */
  isUnderneath?: true;
}

/**
 * Fixes by name. This type cannot use `FixId`, which is derived from these names; `known/index.ts` therefore checks the
 * names in `hides`.
 */
export const fixesOf = <Id extends string, Hidden extends string = never>(
  records: Record<Id, FixRecord<Hidden>>,
): Record<Id, FixRecord<Hidden>> => records;

/** A known cause that no fix of a stack prevents, because a user, another program or the hardware causes it. */
export interface Cause extends Known {
  remedy: string;
  errors: string[];
  /** Pattern of the cause's error messages in every release. A test compares it with messages of real programs. */
  texts: RegExp;
  /** Further evidence of the cause, one line each. */
  signs?: (observations: Observations) => string[];
}

/** Whether a machine of the stack has a GPU. */
export const hasGpu = (plan: Plan): boolean =>
  plan.machines.some((machine) => machine.gpuCount > 0);
