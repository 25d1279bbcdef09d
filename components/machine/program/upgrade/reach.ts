import { CallError, problemAt } from "../../../clients/failure";
import type { MachineStatus } from "../../../clients/talos/talos-machine";
import { patienceOf, type Run, waitIn } from "./run";
import texts from "../texts.json";

/**
 * Waits until the machine answers and its stage is `running`. A machine that is in the middle of an upgrade or a boot, as
 * after a run that was killed, gets the time to finish; one whose boot is paused, since it cannot go on, does not.
 *
 * @param maybeDown whether an earlier run may have left it in a reboot, whose time it then gets to answer.
 * @returns why the boot is paused, if it is.
 */
export async function reach(run: Run, maybeDown: boolean): Promise<string | undefined> {
  const { machine, task, guard, limits } = run;
  const limit = maybeDown || task.installs ? limits.reboot : patienceOf(run);
  const look = async (): Promise<{ done: { paused?: string } } | { not: string }> => {
    const { stage, unmet } = await machine.status().catch(unlessInstalling(task));
    if (stage === "running") return { done: {} };
    const paused = await guard.paused();
    if (paused !== undefined) return { done: { paused } };
    return { not: `stage ${stage}${unmet.length > 0 ? `: ${unmet.join(", ")}` : ""}` };
  };
  const { paused } = await waitIn(run, "reach", limit, `${task.address} to answer`, look, (within) =>
    problemAt(`machines.${task.machine}.address`, texts.down, { task, within }),
  );
  return paused;
}

/** A machine that leaves maintenance mode still shows the certificate that it made for itself there, which nobody knows. */
function unlessInstalling({ installs }: Run["task"]): (error: unknown) => MachineStatus {
  return (error) => {
    if (installs && error instanceof CallError && /unknown authority/.test(error.message))
      return { stage: "maintenance", ready: false, unmet: [] };
    throw error;
  };
}

/** Waits until a machine that was just installed has its node in Kubernetes, whose API may be starting itself. */
export async function join(run: Run): Promise<void> {
  const { cluster, task, limits } = run;
  if (!task.installs || cluster === undefined) return;
  const look = async () =>
    (await cluster.node(task.machine)) === undefined ? { not: "Kubernetes has no such node" } : { done: true };
  await waitIn(run, "join", limits.reboot, `node ${task.machine}`, look, (within) =>
    problemAt(`machines.${task.machine}`, texts.noNode, { within, task }),
  );
}
