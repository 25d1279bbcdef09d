import { LimitReached, waitFor, waitOrFail } from "../../clients/clock";
import { CallError, Failure, lastLine, type FieldFinding } from "../../clients/failure";
import { checkClient } from "../../clients/talos/client-fits";
import type { AskedNode } from "../cluster/cluster";
import { checkImage } from "../seen/image";
import { anotherNode } from "../seen/same-cluster";
import type { UpgradeTask } from "../task";
import { type Compared, isSameImage, runsImage } from "./compare";
import { checkControlPlanes } from "./control-planes";
import { patiently, type Run, upTo } from "./run";

/** Refuses to install over an image that waits for its boot and is not the wanted one, and to reboot into it. */
function checkWaiting(
  { machine, address, installerImage }: UpgradeTask,
  waiting: string | undefined,
): FieldFinding[] {
  if (waiting === undefined || isSameImage(waiting, installerImage)) return [];
  return [
    {
      field: `machines.${machine}`,
      problem: `an image that this stack does not want is installed and boots next: ${waiting}`,
      why: "a reboot would start it, and a further installation would overwrite the running image, the only one that is known to boot",
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

/** A step of a machine's way: what it runs next. */
export interface Step {
  /** Task with the image that it runs next. */
  next: UpgradeTask;
  /** Whether this run has just booted it on its way: its node has to be ready before the next boot. */
  onItsWay: boolean;
  /** Whether it may just have booted: what it lacks then may still come. */
  settles: boolean;
  /** Findings of its way as a whole. */
  way: FieldFinding[];
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
  step: Step,
): Promise<void> {
  const says = "talosctl, upgrade path, etcd, credentials, what the machine would lose";
  const { clock, poll, limits } = run;
  const limit = limits.verify;
  const look = async (): Promise<FieldFinding[]> => [
    ...(await problemsOf(run, compared, brought, step)),
    ...(step.onItsWay ? await nodeProblems(run) : []),
  ];
  if (!step.settles) {
    const found = await run.phases.run("precheck", says, () => patiently(run, look));
    if (found.length > 0) throw new Failure(...found);
    return;
  }
  let found: FieldFinding[] = [];
  await run.phases.run("precheck", `${says}, ${upTo(limit)} for what comes after its boot`, () =>
    waitOrFail(
      clock,
      {
        limit,
        poll,
        look: async () => {
          found = await look();
          return found.length === 0
            ? { done: true }
            : { not: found.map(({ problem }) => problem).join(", ") };
        },
      },
      (within, last) =>
        found.length > 0
          ? found
          : {
              field: `machines.${run.task.machine}`,
              problem: `it was not seen to be well ${within} (last: ${last})`,
              why: "the next release is installed only where the machine is well on this one",
              remedy: "see that the machine and Kubernetes answer, then run again",
            },
    ),
  );
}

/** Whether the machine's node is up again on its way. */
async function nodeProblems({ task, cluster }: Run): Promise<FieldFinding[]> {
  const node = await cluster?.node(task.machine);
  if (node === undefined || node.ready) return [];
  return [
    {
      field: `machines.${task.machine}`,
      problem: "its node is not ready",
      why: "the next release is installed only where the machine is well on this one",
      remedy: `look at \`kubectl describe node ${task.machine}\`, then run again`,
    },
  ];
}

async function problemsOf(
  run: Run,
  { before, paused, waiting }: Compared,
  brought: string | undefined,
  { next, way }: Step,
): Promise<FieldFinding[]> {
  const { task, machine, cluster, clientVersion } = run;
  return [
    ...checkClient(clientVersion, before.talosVersion, task.talosVersion),
    ...way,
    ...(await checkControlPlanes(run, paused)),
    ...(await checkNode(run, paused)),
    ...checkWaiting(next, waiting),
    ...(runsImage(before, next)
      ? []
      : await checkImage(
          { ...next, gpu: task.modules.length > 0 },
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
