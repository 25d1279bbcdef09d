import type { FixId } from "../fix-ids";
import type { Observations } from "../observations";
import type { Evidence } from "../evidence";
import type { System } from "./system";

/** The failure that the lack of a fix is: its signs, and the failures that only follow from it. */
export interface Rule {
  /** Finds what was seen that speaks for it, empty when nothing does. */
  sign: (seen: Observations, system: System) => Evidence[];
  /** Fixes whose signs are seen too when this one lacks, and which are then not told, of the same machine. Default none. */
  causes?: readonly FixId[];
}

/** Some of the rules, by the fix whose lack each sees. */
export type Rules = Partial<Record<FixId, Rule>>;
