import { LimitReached, waitFor, waitOrFail } from "../../clients/clock";
import { CallError, Failure, lastLine, type FieldFinding } from "../../clients/failure";
import { checkClient } from "../../clients/talos/client-fits";
import { argsConflictFindings } from "../../recipe/machine/boot-args";
import type { AskedNode } from "../cluster/cluster";
import { checkImage } from "../seen/image";
import { anotherNode } from "../seen/same-cluster";
import type { UpgradeTask } from "../task";
import { type Compared, isSameImage, type Observed, runsImage } from "./compare";
import { checkControlPlanes } from "./control-planes";
import { patiently, type Run, upTo } from "./run";
import { missingModulesFindings } from "./staged-settings";

/**
 * Refuses the update if the machine would next boot an installed image that the stack does not want. A reboot would
 * start that image, and an installation would overwrite the running image.
 */
function checkWaiting(
  { machine, address, installerImage }: UpgradeTask,
  waiting: string | undefined,
): FieldFinding[] {
  if (waiting === undefined || isSameImage(waiting, installerImage)) return [];
  return [
    {
      field: `machines.${machine}`,
      problem: `an image that does not belong to this stack is installed and boots next: ${waiting}`,
      why: "a reboot would start that image, and a further installation would overwrite the running image, the only one that is known to boot",
      remedy: `run \`talosctl -n ${address} rollback\` to keep the running image, or \`talosctl -n ${address} reboot\` to start the installed one. Both commands reboot without a drain. Then run again`,
    },
  ];
}

/**
 * Time limit in milliseconds for Kubernetes' list of its nodes. If Kubernetes does not answer, the drain reports that
 * later.
 */
const NODES = 60_000;

/** Checks that the machine is the node of its name, because the drain uses that name. */
async function checkNode(
  { task, machine, cluster, clock, poll, report }: Run,
  paused: boolean,
): Promise<FieldFinding[]> {
  if (cluster === undefined) return [];
  const limit = paused ? poll : NODES; // the API server may be on this machine, and wait for this boot
  const look = async () => ({ done: await cluster.nodes() });
  const nodes = await waitFor(clock, {
    subject: "the nodes of the cluster",
    limit,
    poll,
    look,
  }).catch((error: unknown): AskedNode[] => {
    if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
    report(`precheck: not known whether the machine is node ${task.machine} (${lastLine(error)})`);
    return [];
  });
  return anotherNode(task, await machine.bootId(), nodes);
}

/** A step on a machine's upgrade path to the wanted release. */
export interface Step {
  /** Task with the image that the machine runs next. */
  next: UpgradeTask;
  /**
   * Whether an earlier step of this run has rebooted the machine. The machine's node must then be ready before the next
   * reboot.
   */
  onItsWay: boolean;
  /**
   * Whether the machine may have booted just now. The check is then repeated for a while, because etcd and the node may
   * need time.
   */
  settles: boolean;
  /** Findings about the whole upgrade path. */
  way: FieldFinding[];
}

/**
 * Checks everything that must hold before the program drains or reboots a machine.
 *
 * @throws Failure with all problems.
 *
 * @param ownSchematic the running schematic, if an update of this stack installed it; else undefined.
 */
export async function precheck(
  run: Run,
  compared: Compared,
  ownSchematic: string | undefined,
  step: Step,
): Promise<void> {
  const description = "talosctl, upgrade path, etcd, credentials, and what the machine would lose";
  const { clock, poll, limits } = run;
  const limit = limits.verify;
  const look = async (): Promise<FieldFinding[]> => [
    ...(await problemsOf(run, compared, ownSchematic, step)),
    ...(step.onItsWay ? await nodeProblems(run) : []),
  ];
  if (!step.settles) {
    const findings = await run.phases.run("precheck", description, () => patiently(run, look));
    if (findings.length > 0) throw new Failure(...findings);
    return;
  }
  let lastFindings: FieldFinding[] = [];
  await run.phases.run(
    "precheck",
    `${description}; waiting ${upTo(limit)}, because etcd and the node need some time after a boot`,
    () =>
      waitOrFail(
        clock,
        {
          limit,
          poll,
          look: async () => {
            lastFindings = await look();
            return lastFindings.length === 0
              ? { done: true }
              : { not: lastFindings.map(({ problem }) => problem).join(", ") };
          },
        },
        (limitText, last) =>
          lastFindings.length > 0
            ? lastFindings
            : {
                field: `machines.${run.task.machine}`,
                problem: `its health could not be checked ${limitText} (last: ${last})`,
                why: "the update drains and reboots a machine only after this check",
                remedy: "make sure that the machine and Kubernetes answer, then run again",
              },
      ),
  );
}

/** Finding about the machine's node if it is not ready again after the last step. */
async function nodeProblems({ task, cluster }: Run): Promise<FieldFinding[]> {
  const node = await cluster?.node(task.machine);
  if (node === undefined || node.ready) return [];
  return [
    {
      field: `machines.${task.machine}`,
      problem: "its node is not ready",
      why: "the update installs several Talos releases one after another, each only on a healthy machine",
      remedy: `look at \`kubectl describe node ${task.machine}\`, then run again`,
    },
  ];
}

/** Findings about the next image, which the machine has yet to install. */
async function imageFindings(
  { machine, task, askFactory }: Run,
  before: Observed,
  next: UpgradeTask,
  ownSchematic: string | undefined,
): Promise<FieldFinding[]> {
  const image = await machine.image();
  const asked = {
    ...next,
    gpu: task.modules.length > 0,
    isStaged: before.staged,
    runningRelease: before.talosVersion,
  };
  return [
    ...checkImage(asked, image, before.schematicId, ownSchematic),
    ...argsConflictFindings(asked, image),
    ...((await askFactory?.(next, image, before.talosVersion)) ?? []),
  ];
}

async function problemsOf(
  run: Run,
  { before, paused, waiting, effect }: Compared,
  ownSchematic: string | undefined,
  { next, way }: Step,
): Promise<FieldFinding[]> {
  const { task, machine, cluster, clientVersion } = run;
  // A reboot also ends a paused boot, whatever is staged.
  const reboots = paused || effect !== "live";
  return [
    ...checkClient(clientVersion, before.talosVersion, task.talosVersion),
    ...way,
    ...(await checkControlPlanes(run, paused, reboots)),
    ...(await checkNode(run, paused)),
    ...checkWaiting(next, waiting),
    ...(await missingModulesFindings(machine, task)),
    ...(runsImage(before, next) ? [] : await imageFindings(run, before, next, ownSchematic)),
    ...(reboots && task.drain && cluster === undefined
      ? [
          {
            field: "talos-gpu:kubeconfig",
            problem: "the machine must reboot, but its drain needs a kubeconfig, and there is none",
            why: "without a drain, the reboot would kill the machine's pods without an eviction",
            remedy:
              "pass the kubeconfig (stack configuration or KUBECONFIG), or set `upgrade.drain: false`",
          },
        ]
      : []),
  ];
}
