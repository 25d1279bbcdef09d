import type { Plan } from "../../recipe/types";
import type { Evidence } from "../evidence";
import type { Observations } from "../observations";
import type { System } from "../system";
import said from "./known.json";

/** The texts about the fixes and the known causes: known.json. */
export const words: {
  fixes: Record<FixId, FixWords>;
  causes: Record<CauseId, Omit<Cause, "texts" | "signs">>;
} = said;

/** Name of a fix. known.json has them in the order of the report. */
export type FixId = keyof typeof said.fixes;
/** Names of the fixes. */
export const fixIds = Object.keys(said.fixes) as FixId[];

/** Name of a known cause that no fix of a stack prevents: a person or another program has to bring it about. */
export type CauseId = keyof typeof said.causes;
/** Names of these causes. */
export const causeIds = Object.keys(said.causes) as CauseId[];

/** Something that is known to go wrong on Talos. */
interface Known {
  /** What is seen. */
  symptom: string;
  cause: string;
  source: string;
  /** What it prints, word for word, for those who search for it. `…` stands for what differs. */
  errors?: string[];
}

/** What known.json says of what a system fails by without something that this package does. */
interface FixWords extends Known {
  /** What is done. */
  does: string;
  /** Name of the check that refuses a stack without it at preview; absent where only the running system shows it. */
  check?: string;
  /** What to do where a stack of this package has the fix and the failure is seen all the same; absent if it must have been undone by hand. */
  inForce?: string;
}

/** How to see whether a fix is needed, and that it is missing. */
export interface FixSigns {
  /** Whether a stack's plan needs it. */
  usedBy(plan: Plan): boolean;
  /** What was seen that speaks for its lack, empty when nothing does. */
  sign: (seen: Observations, system: System) => Evidence[];
  /** Fixes whose signs are seen too when this one lacks, and which are then not told, of the same machine. Default none. */
  causes?: readonly FixId[];
  /** Without it a machine has no driver or no runtime: whatever its pods then say follows from that. */
  isUnderneath?: true;
}

/** A fix by its name. */
export interface Fix extends FixWords, FixSigns {
  id: FixId;
}

/** Signs of some of the fixes, by name. */
export type Signs = Partial<Record<FixId, FixSigns>>;

/** What known.json says about a known cause, and how it is recognised. */
export interface Cause extends Known {
  remedy: string;
  errors: string[];
  /** What is printed, in every release's form. */
  texts: RegExp;
  /** Further evidence of it, one line each. */
  signs?: (seen: Observations) => string[];
}

/** Whether a machine of the stack has a GPU. */
export const hasGpu = (plan: Plan): boolean =>
  plan.machines.some((machine) => machine.gpuCount > 0);
