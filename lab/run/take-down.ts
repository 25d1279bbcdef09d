import { planCluster } from "../../components/recipe";
import { leftovers, type Leftovers } from "./leftovers";
import { lookAround } from "./look-around";
import { Failed, type Phase } from "../phases";
import type { Running } from "./running";
import type { Standing } from "./standing";
import { narrate } from "./updates";
import { until } from "../until";

/** Destroys the stack, and checks whether anything of it is left. */
export const downPhase: Phase<Running> = {
  title: "down",
  run: async (lab, say) => {
    const up = await lookAround(lab);
    const [{ result, seconds, diagnostics }] = await Promise.all([
      lab.engine.destroy({ signal: lab.session.signal, onEvent: narrate(say) }),
      // So the garbage collector knows the kinds that the stack's charts have defined, as in an older cluster.
      lab.controlPlane.learnKinds(),
    ]);
    if (result !== "succeeded") {
      downFailed(
        lab,
        "the stack could not be taken down",
        diagnostics,
        "see the messages of the resources that stayed",
      );
      return new Failed(result);
    }
    const { left, stays } = await whatIsLeft(lab, up);
    lab.report.left = left;
    for (const line of stays) say(`stays: ${line}`, "event");
    const staying =
      stays.length === 0 ? "" : `; ${stays.length} things stay, each with its reason (--verbose)`;
    if (left.length === 0)
      return `everything of the stack removed in ${seconds.toFixed(1)} s${staying}`;
    for (const line of left) say(`left: ${line}`);
    downFailed(
      lab,
      "destroy left something behind",
      left,
      "make the resource that created it remove it, or list the reason why it stays",
    );
    return new Failed(`${left.length} left behind`);
  },
};

function downFailed(
  { report }: Running,
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
export async function whatIsLeft(lab: Running, up: Standing): Promise<Leftovers> {
  const look = (): Promise<Leftovers> =>
    lookAround(lab).then(
      (now) => leftovers(planCluster(lab.spec), lab.before, up, now, lab.earlier),
      // A machine that Omni is rebooting does not answer.
      (error: Error) => ({ left: [`could not be read: ${error.message}`], stays: [] }),
    );
  const patience = { seconds: settleSeconds, every: 1_000, signal: lab.session.signal };
  return (await until(patience, look, ({ left }) => left.length === 0)).seen;
}
