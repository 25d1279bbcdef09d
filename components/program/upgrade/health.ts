import { waitOrFail } from "../../clients/clock";
import { isTransient } from "../../clients/failure";
import { limitOf, steadyTime } from "../../recipe/effect/upgrade-phases";
import { formatDuration } from "../../recipe/rules/duration";
import { failedParts } from "../seen/failed-parts";
import { patiently, type Run, upTo } from "./run";

/**
 * Whether an API server of the cluster answers, even if it refuses the request. True without credentials for
 * Kubernetes.
 */
const answersKubernetes = async ({ cluster, task }: Run): Promise<boolean> =>
  cluster === undefined ||
  (await cluster.node(task.machine).then(
    () => true,
    (error: unknown) => !isTransient(error),
  ));

/** Why the machine is watched: its configuration changed without a reboot, or nothing changed since its last boot. */
type Cause = "change" | "boot";

/** Failed parts of Kubernetes on the machine (`failedParts`), and on a control plane, an API that does not answer. */
async function failuresOf(run: Run): Promise<string[]> {
  const failed = failedParts((await run.machine.status()).unmet);
  return run.task.role === "controlplane" && !(await answersKubernetes(run))
    ? [...failed, "the Kubernetes API does not answer"]
    : failed;
}

/**
 * Called after a change of the machine's configuration that took effect without a reboot. Waits until the machine has
 * run for a while without a failure (`failuresOf`). Talos checks neither the flags of the kubelet nor those of the
 * control plane. A kubelet with a wrong flag fails at once, but an API server only when the kubelet restarts it.
 *
 * @throws Failure at the limit. The update then does not change the machines that come after this one.
 */
export const awaitHealth = (run: Run): Promise<void> =>
  waitForHealth(
    run,
    "change",
    `until kubelet and control plane have run for ${formatDuration(steadyTime(run.limits))} with the new configuration`,
  );

/**
 * Called if no configuration took effect without a reboot. Waits until no part of Kubernetes on the machine fails. The
 * phase `reboot` only warns if the machine runs but is not ready, and `uncordon` waits only for a node that this program
 * cordoned. A later run finds nothing to do on such a machine, and must not go on to the next machine either.
 *
 * @throws Failure at the limit. The update then does not change the machines that come after this one.
 */
export async function awaitParts(run: Run): Promise<void> {
  if ((await patiently(run, () => failuresOf(run))).length > 0)
    await waitForHealth(run, "boot", "for kubelet and control plane");
}

/** Waits until the machine has no failed part: after a change for `steadyTime`, else at one look. */
async function waitForHealth(run: Run, cause: Cause, subject: string): Promise<void> {
  const { task, clock, poll, limits } = run;
  const time = cause === "change" ? steadyTime(limits) : 0;
  const limit = limitOf("health", limits);
  let healthySince: number | undefined;
  let lastFailed: string | undefined;
  const look = async (): Promise<{ done: true } | { not: string }> => {
    const since = healthySince;
    healthySince = undefined;
    const failed = await failuresOf(run);
    if (failed.length > 0) {
      lastFailed = failed.join(", ");
      return { not: lastFailed };
    }
    healthySince = since ?? clock.now();
    const healthyTime = clock.now() - healthySince;
    return healthyTime >= time ? { done: true } : { not: "healthy, but not for long enough yet" };
  };
  await run.phases.run("health", `waiting ${upTo(limit)} ${subject}`, () =>
    waitOrFail(clock, { limit, poll, look }, (_, last) => ({
      field: `machines.${task.machine}`,
      problem: `${beginning[cause]}: ${lastFailed ?? last} (after ${formatDuration(limit)})`,
      why: "the kubelet or a component of the control plane may not accept the configuration. The update stopped before it changed the next machine",
      remedy: `look at \`talosctl -n ${task.address} services\`, \`talosctl -n ${task.address} logs kubelet\`${task.role === "controlplane" ? ` and \`talosctl -n ${task.address} containers --kubernetes\`` : ""}, correct the setting in the stack, and run again. If you undo your edit instead, also change \`reconcileToken\`: otherwise Pulumi sees no change, and the machine keeps the setting`,
    })),
  );
}

const beginning: Record<Cause, string> = {
  change: "its configuration changed without a reboot, and since then",
  boot: "since its last boot",
};
