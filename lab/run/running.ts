import type { Lab } from "../cluster/bring-up";
import type { LabEngine } from "../engine";
import type { LabReport } from "./report";
import type { Standing } from "./standing";

/** A lab with the stack's program at work. */
export interface Running extends Lab {
  engine: LabEngine;
  /** What stood before the first update. */
  before: Standing;
  report: LabReport;
  /** What the engine said when something failed. */
  diagnostics: string[];
}
