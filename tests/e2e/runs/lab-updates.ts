import type { UpdateReport } from "../../../lab/run/report";
import type { RunningLab } from "../../../lab/run/running-lab";
import { downPhase } from "../../../lab/run/take-down";
import { update } from "../../../lab/run/updates";

/** Result of one update, with its output. */
export interface UpdateWithOutput extends UpdateReport {
  diagnostics: string[];
  lines: string[];
}

/** Updates a lab's stack, and shows the output as it comes. */
export async function updateWithOutput(lab: RunningLab): Promise<UpdateWithOutput> {
  const lines: string[] = [];
  const { report, diagnostics } = await update(lab, lab.engine, (line) => {
    console.error(line);
    lines.push(line);
  });
  return { ...report, diagnostics, lines };
}

/** Destroys a lab's stack. Returns what is left of it, or why the destroy failed. */
export async function destroyAndFindLeftovers(lab: RunningLab): Promise<string[]> {
  await downPhase.run(lab, (line) => console.error(`down: ${line}`));
  return lab.report.left ?? lab.report.failures.map(({ cause }) => cause);
}
