import { setTimeout as pause } from "node:timers/promises";
import { inOneLine } from "../../components/diagnosis/unlike/index";
import { Failed, type Phase, type Say } from "../phases";
import { diagnoseLab } from "./diagnose-lab";
import { gatherMachines, gatherWorkloads } from "./gather";
import type { Running } from "./running";

/**
 * Lab seconds that a cluster has to settle in after its update: what nobody waits for, like the operator's own pods, or a
 * server whose probe failed once. Beside them seconds for the calls themselves.
 */
const settlingSeconds = 300;
const realPartsSeconds = 10;

/** Milliseconds between two looks: each asks every machine a dozen things. */
const betweenLooks = 1000;

/**
 * Looks at what came of the updates, and again while that is not as planned and may still become so, or while an update has failed
 * and nothing says why yet.
 */
export const outcomePhase: Phase<Running> = {
  title: "what came of it",
  run: async (lab, say) => {
    const { report, session, options } = lab;
    const deadline = performance.now() + (settlingSeconds / options.timeScale + realPartsSeconds) * 1000;
    for (;;) {
      const said: string[] = [];
      const { unlike, explained } = await look(lab, (line) => void said.push(line));
      report.ok = unlike.length === 0 && report.failures.length === 0 && !lab.failed;
      if (report.ok) return "as planned, and the doctor finds nothing";
      if ((lab.failed && explained) || performance.now() > deadline) {
        for (const line of [...said, ...unlike]) say(line);
        return new Failed("not as planned");
      }
      await pause(betweenLooks, undefined, { signal: session.signal });
    }
  },
};

/** Fills the report, and tells what is unlike the plan. What is wrong need not fail an update, so the doctor looks always. */
async function look(lab: Running, say: Say): Promise<{ unlike: string[]; explained: boolean }> {
  const { report } = lab;
  report.machines = await gatherMachines(lab.machines, lab.kubernetes);
  report.workloads = await gatherWorkloads(lab.kubernetes);
  const { unlike, failures, explained } = await diagnoseLab(lab, lab.diagnostics, lab.failed, say);
  report.failures = failures;
  const lines = unlike.flatMap((one) => [
    `unlike the plan: ${inOneLine(one)}`,
    ...(one.lastWords ?? []).map((line) => `    ${line}`),
  ]);
  return { unlike: lines, explained };
}
