import type { Plan } from "../../components/recipe";
import type { Lab } from "../cluster/lab";
import type { LabEngine } from "../engine";
import type { Foretold } from "./foretold";
import type { LabReport } from "./report";
import type { Standing } from "./standing";

/** A lab that runs the stack's program. */
export interface Running extends Lab {
  engine: LabEngine;
  /** State before the first update. */
  before: Standing;
  /** The stack before each edit. */
  earlier: Plan[];
  report: LabReport;
  /** Whether a preview or an update of the present stack failed. */
  failed: boolean;
  /** Report of the preview before the next update. */
  foretold?: Foretold | undefined;
  /** Messages of the engine. */
  diagnostics: string[];
}

/** A lab before the stack's first update. Without `open`, a phase sets the engine. */
export const running = (
  lab: Lab,
  report: LabReport,
  open?: Pick<Running, "engine" | "before">,
): Running =>
  Object.assign(lab, {
    ...(open ?? { engine: undefined as never, before: undefined as never }),
    earlier: [],
    report,
    failed: false,
    diagnostics: [],
  });
