import { isSelfSigned } from "../../clients/certificates";
import type { MachineStatus } from "../../clients/talos/talos-machine";
import { patienceOf, type Run, waitIn } from "./run";

/**
 * Waits until the machine answers and its stage is `running`. A machine in the middle of an upgrade or boot, e.g. after
 * a killed run, gets time to finish. If Talos has paused the boot, the wait ends at once.
 *
 * @param maybeDown whether an earlier run may have left the machine in a reboot; the wait then has the limit of a
 * reboot.
 * @returns why Talos has paused the boot; undefined if the machine runs.
 */
export async function reach(run: Run, maybeDown: boolean): Promise<string | undefined> {
  const { machine, task, guard, limits } = run;
  const limit = maybeDown || task.installs ? limits.reboot : patienceOf(run);
  const look = async (): Promise<{ done: { paused?: string } } | { not: string }> => {
    const { stage, unmet } = await machine.status().catch(unlessInstalling(task));
    if (stage === "running") return { done: {} };
    const paused = await guard.pauseReason();
    if (paused !== undefined) return { done: { paused } };
    return { not: `stage ${stage}${unmet.length > 0 ? `: ${unmet.join(", ")}` : ""}` };
  };
  const { paused } = await waitIn(
    run,
    "reach",
    limit,
    `${task.address} to answer`,
    look,
    (limitText) => ({
      field: `machines.${task.machine}.address`,
      problem: `the machine at ${task.address} was not up ${limitText}`,
      why: "the update goes on only once the machine is up, and nothing was changed on the machine",
      remedy: `check the address, the endpoints of the talosconfig and \`talosctl -n ${task.address} dmesg\`, then run again`,
    }),
  );
  return paused;
}

/** Accepts the certificate of maintenance mode while a machine installs Talos. */
function unlessInstalling({ installs }: Run["task"]): (error: unknown) => MachineStatus {
  return (error) => {
    if (installs && isSelfSigned(error)) return { stage: "maintenance", ready: false, unmet: [] };
    throw error;
  };
}

/** Waits until a newly installed machine has its node in Kubernetes. The Kubernetes API may still be starting. */
export async function join(run: Run): Promise<void> {
  const { cluster, task, limits } = run;
  if (!task.installs || cluster === undefined) return;
  const look = async () =>
    (await cluster.node(task.machine)) === undefined
      ? { not: "Kubernetes has no such node" }
      : { done: true };
  await waitIn(run, "join", limits.reboot, `node ${task.machine}`, look, (limitText) => ({
    field: `machines.${task.machine}`,
    problem: `its node did not join the cluster ${limitText}`,
    why: "the machine runs, but Kubernetes schedules no pods on it",
    remedy: `check that clusterEndpoint reaches a control plane, and that the machine's host name is ${task.machine}. Read \`talosctl -n ${task.address} logs kubelet\`, then run again`,
  }));
}
