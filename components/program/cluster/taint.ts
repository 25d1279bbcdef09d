import { isDeepStrictEqual } from "node:util";
import { waitOrFail, type Clock } from "../../clients/clock";
import { CallError, Failure, lastLine } from "../../clients/failure";
import type { Report } from "../progress";
import { askLast, lastAnswer } from "../removal";
import type { NodeTaintState, UpgradeTask } from "../task";
import type { Cluster } from "./cluster";
import { taintMark } from "./taint-mark";

/** The calls to a cluster that read and set taints. */
export type TaintedNodes = Pick<Cluster, "taints" | "setTaints">;

/**
 * Number of attempts to write taints. A node's status changes every few seconds. Each change makes a new resource
 * version, and Kubernetes refuses a write that is based on an older version.
 */
const ATTEMPTS = 20;

/** Consequence of taints that the update could not set. */
const MISSING = "without the taints, the GPU machine may run pods that the taints should keep away";

/** Consequence of taints that the update could not remove. */
const LEFT =
  "the node keeps the stack's taints, so pods without a toleration cannot be scheduled on it";

const taintsPart = { ending: "-upgrade", why: LEFT };

/** A node, and the stack's taints that it should have. */
export type TaintTask = Pick<UpgradeTask, "machine" | "taints">;

/**
 * Sets the stack's taints on the node and removes the taints that the stack no longer wants. Taints of other owners
 * stay. Kubernetes treats a node's taints as one list, so server-side apply of the stack's taints would remove all
 * other taints. This function merges the stack's taints into the list by key and effect. It writes the list only if the
 * node has not changed since it was read.
 *
 * A wanted taint that the node already has is the stack's only if the last run recorded it or the node's annotation
 * names it. Otherwise it belongs to another owner. Another owner's taint stays on the node even after the stack stops
 * listing it. A taint with a wanted key and effect but another value gets the stack's value.
 *
 * @param previousTaints the taints that the last run recorded as the stack's.
 * @returns the stack's taints after the change.
 * @throws Failure if there is no such node, or Kubernetes does not answer.
 */
export async function taint(
  task: TaintTask,
  previousTaints: NodeTaintState[] = [],
  nodes: TaintedNodes,
  clock: Clock,
  report: Report,
): Promise<NodeTaintState[]> {
  const hasTaints = (task.taints ?? []).length > 0;
  const why = hasTaints ? MISSING : LEFT;
  const updateTaints = (): Promise<NodeTaintState[] | undefined> =>
    replaceTaints(task, previousTaints, nodes, why, report);
  if (!hasTaints && previousTaints.length === 0) return once(updateTaints, report);
  const ownTaints = await waitOrFail(
    clock,
    { ...lastAnswer, look: async () => ({ done: await updateTaints() }) },
    (limitText) => ({
      field: fieldOf(task),
      problem: `Kubernetes did not answer ${limitText}`,
      why,
      remedy: `make sure that \`kubectl get node ${task.machine}\` answers, then run again`,
    }),
  );
  if (ownTaints === undefined && hasTaints)
    throw failureOf(
      task,
      "the cluster has no node of this name",
      why,
      "check the machine's name and the kubeconfig",
    );
  return ownTaints ?? [];
}

/**
 * Removes the stack's taints from the node of a machine that leaves the stack. A taint stays if another owner has
 * changed its value.
 *
 * @throws Failure if the stack has taints on the node, and Kubernetes does not answer.
 */
export async function untaint(
  machine: string,
  previousTaints: NodeTaintState[] = [],
  nodes: TaintedNodes,
  clock: Clock,
  report: Report,
): Promise<void> {
  const updateTaints = (): Promise<NodeTaintState[] | undefined> =>
    replaceTaints({ machine }, previousTaints, nodes, LEFT, report);
  if (previousTaints.length === 0) await once(updateTaints, report);
  else await askLast({ clock, machine, who: "Kubernetes", part: taintsPart }, updateTaints);
}

/**
 * Tries the change once, without a wait for Kubernetes. This is for a stack without taints and without a record of
 * taints. Such a stack has a taint on the node only if the answer of an earlier run was lost; the node's annotation
 * then names the taint.
 */
async function once(
  change: () => Promise<NodeTaintState[] | undefined>,
  report: Report,
): Promise<NodeTaintState[]> {
  try {
    return (await change()) ?? [];
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    report(
      `untaint: the stack has no record of a taint, and the program could not check the node (${lastLine(error)})`,
    );
    return [];
  }
}

/**
 * Reads, changes and writes the taints. If the node changed in between, the function tries again.
 *
 * @param why the consequence if the change fails, for the finding.
 * @returns the taints that are the stack's now; undefined if the cluster has no such node.
 */
async function replaceTaints(
  task: TaintTask,
  previousTaints: NodeTaintState[],
  nodes: TaintedNodes,
  why: string,
  report: Report,
): Promise<NodeTaintState[] | undefined> {
  const { machine, taints = [] } = task;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const nodeTaints = await nodes.taints(machine);
    if (nodeTaints === undefined) return undefined;
    const managedBefore = [...previousTaints, ...nodeTaints.stackTaints];
    const managedNow = taints.filter(
      (plannedTaint) =>
        !hasTaint(nodeTaints.taints, plannedTaint) || hasTaint(managedBefore, plannedTaint),
    );
    const dropped = managedBefore.filter(
      (oldTaint) => !taints.some((plannedTaint) => sameTaint(plannedTaint, oldTaint)),
    );
    const nextTaints = taints.reduce(withTaint, taintsWithout(nodeTaints.taints, dropped));
    if (
      isDeepStrictEqual(nextTaints, nodeTaints.taints) &&
      taintMark(managedNow) === taintMark(nodeTaints.stackTaints)
    )
      return managedNow;
    if (
      await nodes.setTaints(
        machine,
        { taints: nextTaints, stackTaints: managedNow },
        nodeTaints.version,
      )
    ) {
      reportTaints("taint", taintsWithout(nextTaints, nodeTaints.taints), report);
      reportTaints("untaint", taintsWithout(nodeTaints.taints, nextTaints), report);
      return managedNow;
    }
  }
  const problem = `the node changed during each of ${ATTEMPTS} attempts`;
  throw failureOf(
    task,
    problem,
    why,
    "find out which program keeps changing the node, then run again",
  );
}

function reportTaints(action: string, taints: NodeTaintState[], report: Report): void {
  if (taints.length > 0) report(`${action}: ${taints.map(({ key }) => key).join(", ")}`);
}

const taintsWithout = (taints: NodeTaintState[], dropped: NodeTaintState[]): NodeTaintState[] =>
  taints.filter((candidate) => !hasTaint(dropped, candidate));

/**
 * Adds a taint to the list. It replaces a taint with the same key and effect, because Kubernetes allows only one taint
 * for each such pair.
 */
function withTaint(taints: NodeTaintState[], plannedTaint: NodeTaintState): NodeTaintState[] {
  const index = taints.findIndex((current) => sameTaint(current, plannedTaint));
  return index < 0
    ? [...taints, plannedTaint]
    : hasTaint(taints, plannedTaint)
      ? taints
      : taints.with(index, plannedTaint);
}

const sameTaint = (a: NodeTaintState, b: NodeTaintState): boolean =>
  a.key === b.key && a.effect === b.effect;

const hasTaint = (taints: NodeTaintState[], plannedTaint: NodeTaintState): boolean =>
  taints.some(
    (current) =>
      sameTaint(current, plannedTaint) && (current.value ?? "") === (plannedTaint.value ?? ""),
  );

const fieldOf = ({ machine }: TaintTask): string => `machines.${machine}.taints`;

const failureOf = (task: TaintTask, problem: string, why: string, remedy: string): Failure =>
  new Failure({ field: fieldOf(task), problem, why, remedy });
