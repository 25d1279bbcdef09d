import { inOneLine } from "../../components/diagnosis";
import { Failed, type Phase, type Say } from "../phases";
import { diagnoseLab } from "./diagnose-lab";
import { gatherMachines, gatherWorkloads } from "./gather";
import { until } from "../until";
import type { Running } from "./running";

/**
 * Lab seconds that a cluster has to settle in after its update: what has no waiter, like the operator's own pods, or
 * a server whose probe failed once. In addition, seconds for the calls themselves and for a real node's containers.
 */
const settlingSeconds = 300;
const realPartsSeconds = { emulated: 10, node: 40, real: 40 };

/** Milliseconds between two looks: each asks every machine a dozen things. */
const betweenLooks = 1000;

/**
 * Inspects the result of the updates. Repeats that while the result may still become as planned, or while a failed
 * update has no explanation yet.
 */
export const outcomePhase: Phase<Running> = {
  title: "what came of it",
  run: async (lab, say) => {
    const { report, session, options } = lab;
    const seconds = settlingSeconds / options.timeScale + realPartsSeconds[options.machines];
    const { seen } = await until(
      { seconds, every: betweenLooks, signal: session.signal },
      () => look(lab),
      ({ explained }) => report.ok || (lab.failed && explained),
    );
    if (report.ok) return "as planned, and the doctor finds nothing";
    for (const line of seen.lines) say(line);
    return new Failed("not as planned");
  },
};

/**
 * Fills the report, and reports the differences from the plan. A fault may not fail an update, so the
 * doctor always looks.
 */
async function look(lab: Running): Promise<{ lines: string[]; explained: boolean }> {
  const { report } = lab;
  const lines: string[] = [];
  const say: Say = (line) => void lines.push(line);
  const { unlike, failures, explained } = await diagnoseLab(lab, lab.diagnostics, lab.failed, say);
  report.failures = failures;
  report.machines = await gatherMachines(lab.machines, lab.kubernetes);
  report.workloads = await gatherWorkloads(lab.kubernetes);
  // A moment after the doctor's look: a pod that has just done its work is not ready, and has not succeeded yet either.
  const unready = report.workloads.filter(({ ready }) => !ready);
  report.ok = unlike.length === 0 && failures.length === 0 && unready.length === 0 && !lab.failed;
  for (const { kind, namespace, name } of unready) say(`not ready: ${kind} ${namespace}/${name}`);
  for (const one of unlike) {
    say(`differs from the plan: ${inOneLine(one)}`);
    for (const line of one.lastWords ?? []) say(`    ${line}`);
  }
  return { lines, explained };
}
