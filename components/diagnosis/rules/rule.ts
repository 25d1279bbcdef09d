import type { FixId } from "../fix-ids";
import type { Observations } from "../observations";
import type { Evidence } from "../evidence";
import type { System } from "./system";

/** Finds what was seen that speaks for a missing fix, empty when nothing does. */
export type Sign = (seen: Observations, system: System) => Evidence[];

/** One failure: its signs, and the failures that only follow from it. */
export interface Rule {
  /** Fix whose lack it is. */
  fix: FixId;
  sign: Sign;
  /** Fixes whose signs are seen too when this one lacks, and which are then not told, of the same machine. */
  causes: FixId[];
}
