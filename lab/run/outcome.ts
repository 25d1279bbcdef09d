import * as fs from "node:fs";
import { inOneLine } from "../../components/diagnosis";
import { Failed, type Phase, type Say } from "../phases";
import { diagnoseLab, unknownFailure } from "./diagnose-lab";
import { gatherMachines, gatherWorkloads } from "./gather";
import { until } from "../until";
import type { RunningLab } from "./running-lab";

/**
 * Lab seconds that a cluster gets to settle after an update. The update does not wait for some pods, such as the
 * operator's own or a server whose probe failed once. `realPartsSeconds` adds time for the calls and for a real node's
 * containers.
 */
const settlingSeconds = 300;
const realPartsSeconds = { emulated: 10, node: 40, real: 40 };

/** Milliseconds between two inspections: each makes a dozen calls to every machine. */
const inspectionInterval = 1000;

/**
 * Inspects the result of the updates. Repeats that while the result may still become as planned, or while a failed
 * update has no explanation yet.
 */
export const outcomePhase: Phase<RunningLab> = {
  title: "what came of it",
  run: async (lab, say) => {
    const { report, session, options } = lab;
    const seconds = settlingSeconds / options.timeScale + realPartsSeconds[options.machines];
    const { seen: inspection } = await until(
      { seconds, every: inspectionInterval, signal: session.signal },
      () => inspect(lab),
      ({ explained }) => report.ok || (lab.failed && explained),
    );
    if (report.ok) return "as planned, and the doctor finds nothing";
    for (const line of inspection.lines) say(line);
    return new Failed("not as planned");
  },
};

/**
 * Fills the report, and prints the differences from the plan. A fault does not always fail the update, so the doctor
 * looks after every update.
 */
async function inspect(lab: RunningLab): Promise<{ lines: string[]; explained: boolean }> {
  const { report } = lab;
  const lines: string[] = [];
  const say: Say = (line) => void lines.push(line);
  if (!fs.existsSync(lab.controlPlane.adminKubeconfig)) {
    say("the stack has made no cluster, so there is nothing to examine");
    report.failures = [unknownFailure(lab.diagnostics)];
    return { lines, explained: true };
  }
  const diagnosis = await diagnoseLab(lab, lab.diagnostics, lab.failed, say);
  const { deviations, failures, explained } = diagnosis;
  report.failures = failures;
  report.machines = await gatherMachines(lab.machines, lab.kubernetes);
  report.workloads = await gatherWorkloads(lab.kubernetes);
  // Read after the doctor's observations: a pod that has just finished may be neither ready nor succeeded yet.
  const unready = report.workloads.filter(({ ready }) => !ready);
  report.ok =
    deviations.length === 0 && failures.length === 0 && unready.length === 0 && !lab.failed;
  for (const { kind, namespace, name } of unready) say(`not ready: ${kind} ${namespace}/${name}`);
  for (const deviation of deviations) {
    say(`differs from the plan: ${inOneLine(deviation)}`);
    for (const line of deviation.lastWords ?? []) say(`    ${line}`);
  }
  return { lines, explained };
}
