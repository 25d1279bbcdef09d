import type { Plan } from "../../recipe/types";
import type { Evidence } from "../evidence";
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

/** What a system fails by without something that this package does, and how to see its lack. `Id` are the names of other fixes. */
export interface FixRecord<Id extends string> extends Known {
  /** What is done. */
  does: string;
  /** Name of the check that refuses a stack without it at preview; absent where only the running system shows it. */
  check?: string;
  /** What to do where a stack of this package has the fix and the failure is seen all the same; absent if it must have been undone by hand. */
  inForce?: string;
  /** Whether a stack's plan needs it. */
  usedBy: (plan: Plan) => boolean;
  /** What was seen that speaks for its lack, empty when nothing does. */
  sign: (seen: Observations, system: System) => Evidence[];
  /** Fixes whose signs are seen too when this one lacks, and which are then not reported, of the same machine. Default none. */
  hides?: readonly Id[] | "all";
  /** Without it a machine has no driver or no runtime: whatever its pods then say follows from that. */
  isUnderneath?: true;
}

/** Fixes by their names. `FixId` is made of these names, and so cannot be written in here: `known/index.ts` checks `hides`. */
export const fixesOf = <Id extends string, Hidden extends string = never>(
  records: Record<Id, FixRecord<Hidden>>,
): Record<Id, FixRecord<Hidden>> => records;

/** A known cause that no fix of a stack prevents: a person or another program has to bring it about. */
export interface Cause extends Known {
  remedy: string;
  errors: string[];
  /** What is printed, in every release's form; a test has the texts of real programs. */
  texts: RegExp;
  /** Further evidence of it, one line each. */
  signs?: (seen: Observations) => string[];
}

/** Whether a machine of the stack has a GPU. */
export const hasGpu = (plan: Plan): boolean =>
  plan.machines.some((machine) => machine.gpuCount > 0);
