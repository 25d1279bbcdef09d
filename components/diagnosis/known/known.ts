import type { Plan } from "../../recipe/types";
import type { Evidence } from "../evidence";
import type { Observations } from "../observations";
import type { System } from "../system";

/** Something that is known to go wrong on Talos. */
interface Known {
  /** Symptom of the failure. */
  symptom: string;
  cause: string;
  source: string;
  /** Its output, word for word, for readers who search for it. `…` stands for the parts that differ. */
  errors?: string[];
}

/**
 * A fix that this package makes, the failure without it, and the sign of its absence. `Id` are the names of other
 * fixes.
 */
export interface FixRecord<Id extends string> extends Known {
  /** The fix itself. */
  does: string;
  /** Name of the check that refuses a stack without it at preview; absent where only the running system shows it. */
  check?: string;
  /**
   * Remedy if a stack of this package has the fix and fails all the same; absent if only a change by hand can have
   * removed the fix.
   */
  inForce?: string;
  /** Whether a stack's plan needs it. */
  usedBy: (plan: Plan) => boolean;
  /** Observations that show its absence; empty if there are none. */
  sign: (seen: Observations, system: System) => Evidence[];
  /**
   * Fixes whose signs are seen too when this one lacks, and which are then not reported, of the same machine. Default
   * none.
   */
  hides?: readonly Id[] | "all";
  /** Without it a machine has no driver or no runtime: whatever its pods then say follows from that. */
  isUnderneath?: true;
}

/**
 * Fixes by their names. `FixId` is made of these names, and so cannot be written in here: `known/index.ts` checks
 * `hides`.
 */
export const fixesOf = <Id extends string, Hidden extends string = never>(
  records: Record<Id, FixRecord<Hidden>>,
): Record<Id, FixRecord<Hidden>> => records;

/** A known cause that no fix of a stack prevents: a person or another program has to bring it about. */
export interface Cause extends Known {
  remedy: string;
  errors: string[];
  /** Pattern of its output in every release; a test has the texts of real programs. */
  texts: RegExp;
  /** Further evidence of it, one line each. */
  signs?: (seen: Observations) => string[];
}

/** Whether a machine of the stack has a GPU. */
export const hasGpu = (plan: Plan): boolean =>
  plan.machines.some((machine) => machine.gpuCount > 0);
