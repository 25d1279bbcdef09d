import type { Plan } from "../../components/recipe";
import type { Lab } from "../cluster/lab";
import type { LabEngine } from "../engine";
import type { PredictedReboots } from "./predicted-reboots";
import type { LabReport } from "./report";
import type { LabSnapshot } from "./snapshot";

/** A lab that runs the stack's program. */
export interface RunningLab extends Lab {
  engine: LabEngine;
  /** State before the first update. */
  initialSnapshot: LabSnapshot;
  /** The stack before each edit. */
  earlierPlans: Plan[];
  report: LabReport;
  /** Whether a preview or an update of the present stack failed. */
  failed: boolean;
  /** Report of the preview before the next update. */
  predictedReboots?: PredictedReboots | undefined;
  /** Messages of the engine. */
  diagnostics: string[];
}

/** A lab before the stack's first update. Without `open`, a phase sets the engine. */
export const runningLab = (
  lab: Lab,
  report: LabReport,
  open?: Pick<RunningLab, "engine" | "initialSnapshot">,
): RunningLab =>
  Object.assign(lab, {
    ...(open ?? { engine: undefined as never, initialSnapshot: undefined as never }),
    earlierPlans: [],
    report,
    failed: false,
    diagnostics: [],
  });
