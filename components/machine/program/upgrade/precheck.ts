import { upgradePathFault } from "../../../recipe/effect/upgrade-path";
import type { Way } from "../../../recipe/effect/way";
import { formatDuration } from "../../../recipe/rules/duration";
import type { BootGuard } from "../seen/boot-guard";
import { LimitReached, waitFor, type Clock } from "../../../clients/clock";
import { CallError, Failure, lastLine } from "../../../clients/failure";
import type { Machine, MachineStatus } from "../../../clients/machine";
import type { AskedNode } from "../../../clients/kubernetes/asked-cluster";
import { checkClient } from "../../../clients/talos/client-fits";
import { checkImage } from "../seen/image";
import { anotherNode } from "../seen/same-cluster";
import type { UpgradeTask } from "../task";
import { checkControlPlanes } from "./control-planes";
import type { Workbench } from "./install";
import { type Observed, runsImage } from "./verify";
import { isSameImage } from "./waiting-image";

type Findings = ConstructorParameters<typeof Failure>[0];

/** What a machine was found to be. */
export interface Compared {
  before: Observed;
  way: Way;
  /** Whether its boot is paused. */
  paused: boolean;
  /** Image that is installed and waits for its next boot. */
  waiting: string | undefined;
}

/** What the wait for a machine needs. */
export interface Reaching {
  machine: Machine;
  clock: Clock;
  task: Pick<UpgradeTask, "machine" | "address" | "installs">;
  guard: BootGuard;
  /** Milliseconds. */
  limit: number;
  /** Milliseconds. */
  poll: number;
}

/**
 * Waits until the machine answers and its stage is `running`. A machine that is in the middle of an upgrade or a boot, as
 * after a run that was killed, gets the time to finish; one whose boot is paused, since it cannot go on, does not.
 *
 * @returns why the boot is paused, if it is.
 */
export async function reach({ machine, clock, task, guard, limit, poll }: Reaching): Promise<{ paused?: string }> {
  try {
    return await waitFor<{ paused?: string }>(clock, {
      what: `machine ${task.machine} (${task.address}) to answer and run`,
      limit,
      poll,
      look: async () => {
        const { stage, unmet } = await machine.status().catch(unlessInstalling(task));
        if (stage === "running") return { done: {} };
        const paused = await guard.paused();
        if (paused !== undefined) return { done: { paused } };
        return { not: `stage ${stage}${unmet.length > 0 ? `: ${unmet.join(", ")}` : ""}` };
      },
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw new Failure([
      {
        field: `machines.${task.machine}.address`,
        problem: `the machine at ${task.address} was not up within ${formatDuration(limit)} (last: ${error.missing})`,
        why: "nothing was changed on it",
        remedy: `check the address, the endpoints of the talosconfig and \`talosctl -n ${task.address} dmesg\`, then run again`,
      },
    ]);
  }
}

/** A machine that leaves maintenance mode still shows the certificate that it made for itself there, which nobody knows. */
function unlessInstalling({ installs }: Reaching["task"]): (error: unknown) => MachineStatus {
  return (error) => {
    if (installs && error instanceof CallError && /unknown authority/.test(error.message))
      return { stage: "maintenance", ready: false, unmet: [] };
    throw error;
  };
}

/** Whether Talos supports going from one release to the other in one step. */
function checkPath(machine: string, running: string, wanted: string): Findings {
  const fault = upgradePathFault(running, wanted);
  return fault === undefined ? [] : [{ field: `machines.${machine}.talosVersion`, ...fault }];
}

/** Refuses to install over an image that waits for its boot and is not the wanted one, and to reboot into it. */
function checkWaiting({ machine, address, installerImage }: UpgradeTask, waiting: string | undefined): Findings {
  if (waiting === undefined || isSameImage(waiting, installerImage)) return [];
  return [
    {
      field: `machines.${machine}`,
      problem: `another image than the wanted one is installed on it and waits for its boot: ${waiting}`,
      why: "a reboot would bring that one, and another installation would remove the image that runs, the only one of which is known that it boots",
      remedy: `\`talosctl -n ${address} rollback\` goes back to the image that runs, \`talosctl -n ${address} reboot\` on to the other one, either by a reboot without a drain; then run again`,
    },
  ];
}

/** Milliseconds for Kubernetes to list its nodes: where it does not, the drain tells. */
const NODES = 60_000;

/** Whether the machine is the node of its name, which is the one that is drained. */
async function checkNode(
  task: UpgradeTask,
  { machine, nodes, clock, report }: Workbench,
  paused: boolean,
): Promise<Findings> {
  if (nodes === undefined) return [];
  const poll = task.pollSeconds * 1_000;
  const what = "the nodes of the cluster";
  const listed = await waitFor(clock, {
    ...{ what, limit: paused ? poll : NODES, poll }, // the API server may wait for this very boot
    look: async () => ({ done: await nodes() }),
  }).catch((error: unknown): AskedNode[] => {
    if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
    report(`precheck: not known whether the machine is node ${task.machine} (${lastLine(error)})`);
    return [];
  });
  return anotherNode(task, await machine.bootId(), listed);
}

/**
 * Everything that is looked at before a machine is disturbed; throws with all that is wrong.
 *
 * @param brought the schematic that runs, where an update of this stack brought it; else undefined.
 */
export async function precheck(
  task: UpgradeTask,
  bench: Workbench,
  { before, paused, waiting }: Compared,
  brought: string | undefined,
): Promise<void> {
  const findings = [
    ...checkClient(bench.clientVersion, before.talosVersion, task.talosVersion),
    ...checkPath(task.machine, before.talosVersion, task.talosVersion),
    ...(await checkControlPlanes(task, bench, paused)),
    ...(await checkNode(task, bench, paused)),
    ...checkWaiting(task, waiting),
    ...(runsImage(before, task)
      ? []
      : await checkImage({ ...task, gpu: task.modules.length > 0 }, bench.machine, before.schematicId, brought)),
  ];
  if (task.drain && bench.cluster === undefined) {
    findings.push({
      field: "talos-gpu:kubeconfig",
      problem: "the machine must reboot, and there are no credentials to drain it with",
      why: "its pods would be cut off",
      remedy: "give the kubeconfig (stack configuration or KUBECONFIG), or set upgrade.drain: false",
    });
  }
  if (findings.length > 0) throw new Failure(findings);
}
