import { planCluster } from "../../components/recipe";
import { leftovers, type Leftovers } from "./leftovers";
import { takeSnapshot } from "./take-snapshot";
import { Failed, type Phase } from "../phases";
import type { RunningLab } from "./running-lab";
import type { LabSnapshot } from "./snapshot";
import { narrate } from "./updates";
import { until } from "../until";

/** Destroys the stack, and checks whether anything of it is left. */
export const downPhase: Phase<RunningLab> = {
  title: "down",
  run: async (lab, say) => {
    const beforeDestroy = await takeSnapshot(lab);
    const [{ result, seconds, diagnostics }] = await Promise.all([
      lab.engine.destroy({ signal: lab.session.signal, onEvent: narrate(say) }),
      // So the garbage collector knows the kinds that the stack's charts have defined, as in an older cluster.
      lab.controlPlane.learnKinds(),
    ]);
    if (result !== "succeeded") {
      reportFailure(
        lab,
        "the stack could not be taken down",
        diagnostics,
        "see the messages of the resources that stayed",
      );
      return new Failed(result);
    }
    const { faults, allowed } = await findLeftovers(lab, beforeDestroy);
    lab.report.left = faults;
    for (const line of allowed) say(`stays: ${line}`, "event");
    const staysNote =
      allowed.length === 0
        ? ""
        : `; ${allowed.length} things stay, each with its reason (--verbose)`;
    if (faults.length === 0)
      return `everything of the stack removed in ${seconds.toFixed(1)} s${staysNote}`;
    for (const line of faults) say(`left: ${line}`);
    reportFailure(
      lab,
      "destroy left something behind",
      faults,
      "make the resource that created it remove it, or list the reason why it stays",
    );
    return new Failed(`${faults.length} left behind`);
  },
};

function reportFailure(
  { report }: RunningLab,
  symptom: string,
  causes: readonly string[],
  remedy: string,
): void {
  report.ok = false;
  report.failures.push({ fix: "unknown", symptom, cause: causes.join("\n"), remedy });
}

/** Seconds within which delayed deletions must end: the garbage collector's, those of pods, Omni's reboots. */
const settleSeconds = 90;

/** Leftovers of the destroy, after delayed deletions have ended. */
export async function findLeftovers(
  lab: RunningLab,
  beforeDestroy: LabSnapshot,
): Promise<Leftovers> {
  const inspect = (): Promise<Leftovers> =>
    takeSnapshot(lab).then(
      (afterDestroy) =>
        leftovers(
          planCluster(lab.spec),
          lab.initialSnapshot,
          beforeDestroy,
          afterDestroy,
          lab.earlierPlans,
        ),
      // A machine that Omni is rebooting does not answer.
      (error: Error) => ({ faults: [`could not be read: ${error.message}`], allowed: [] }),
    );
  const patience = { seconds: settleSeconds, every: 1_000, signal: lab.session.signal };
  return (await until(patience, inspect, ({ faults }) => faults.length === 0)).seen;
}
