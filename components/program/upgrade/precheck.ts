import { LimitReached, waitFor } from "../../clients/clock";
import { CallError, Failure, lastLine, type FieldFinding } from "../../clients/failure";
import { checkClient } from "../../clients/talos/client-fits";
import type { AskedNode } from "../cluster/cluster";
import { checkImage, checkPath } from "../seen/image";
import { anotherNode } from "../seen/same-cluster";
import type { UpgradeTask } from "../task";
import { type Compared, isSameImage, runsImage } from "./compare";
import { checkControlPlanes } from "./control-planes";
import { patiently, type Run } from "./run";

/** Refuses to install over an image that waits for its boot and is not the wanted one, and to reboot into it. */
function checkWaiting(
  { machine, address, installerImage }: UpgradeTask,
  waiting: string | undefined,
): FieldFinding[] {
  if (waiting === undefined || isSameImage(waiting, installerImage)) return [];
  return [
    {
      field: `machines.${machine}`,
      problem: `another image than the wanted one is installed on it and waits for its boot: ${waiting}`,
      why: "a reboot would bring that one, and another installation would remove the image that runs, the only one of which is known that it boots",
      remedy: `\`talosctl -n ${address} rollback\` goes back to the running image; \`talosctl -n ${address} reboot\` goes on to the other one; both reboot without a drain; then run again`,
    },
  ];
}

/** Milliseconds for Kubernetes to list its nodes: where it does not, the drain tells. */
const NODES = 60_000;

/** Whether the machine is the node of its name, which is the one that is drained. */
async function checkNode(
  { task, machine, cluster, clock, poll, report }: Run,
  paused: boolean,
): Promise<FieldFinding[]> {
  if (cluster === undefined) return [];
  const limit = paused ? poll : NODES; // the API server may wait for this very boot
  const look = async () => ({ done: await cluster.nodes() });
  const listed = await waitFor(clock, {
    what: "the nodes of the cluster",
    limit,
    poll,
    look,
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
  run: Run,
  compared: Compared,
  brought: string | undefined,
): Promise<void> {
  const says = "talosctl, upgrade path, etcd, credentials, what the machine would lose";
  const found = await run.phases.run("precheck", says, () =>
    patiently(run, () => problemsOf(run, compared, brought)),
  );
  if (found.length > 0) throw new Failure(...found);
}

async function problemsOf(
  run: Run,
  { before, paused, waiting }: Compared,
  brought: string | undefined,
): Promise<FieldFinding[]> {
  const { task, machine, cluster, clientVersion } = run;
  return [
    ...checkClient(clientVersion, before.talosVersion, task.talosVersion),
    ...checkPath(task.machine, before.talosVersion, task.talosVersion),
    ...(await checkControlPlanes(run, paused)),
    ...(await checkNode(run, paused)),
    ...checkWaiting(task, waiting),
    ...(runsImage(before, task)
      ? []
      : await checkImage(
          { ...task, gpu: task.modules.length > 0 },
          machine,
          before.schematicId,
          brought,
        )),
    ...(task.drain && cluster === undefined
      ? [
          {
            field: "talos-gpu:kubeconfig",
            problem: "the machine must reboot, and there are no credentials to drain it with",
            why: "its pods would be cut off",
            remedy:
              "give the kubeconfig (stack configuration or KUBECONFIG), or set upgrade.drain: false",
          },
        ]
      : []),
  ];
}
