import type { Plan } from "../../components/recipe";
import type { Lab } from "../cluster/lab";
import type { LabEngine } from "../engine";
import type { Foretold } from "./foretold";
import type { LabReport } from "./report";
import type { Standing } from "./standing";

/** A lab with the stack's program at work. */
export interface Running extends Lab {
  engine: LabEngine;
  /** State before the first update. */
  before: Standing;
  /** The stack before each edit. */
  earlier: Plan[];
  report: LabReport;
  /** Whether a preview or an update of the stack, as it is now, did not come to its end. */
  failed: boolean;
  /** Report of the preview before the next update. */
  foretold?: Foretold | undefined;
  /** Output of the engine at a failure. */
  diagnostics: string[];
}

/** The lab, with the stack's program before its first update; without engine where a phase opens it. */
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
