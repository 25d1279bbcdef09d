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
 * Attempts to write taints. A node's status changes every few seconds, and each change makes a new resource version, so
 * a write may lose the race.
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
 * Sets the stack's taints on the node, removes those that the stack no longer wants, and keeps all others. Kubernetes
 * treats a node's taints as one list, so applying a list would remove taints that others added meanwhile. This function
 * reads the list, merges it by key and effect, and writes it only if the node has not changed since.
 *
 * If the node already has a wanted taint, it belongs to another owner, unless the node's annotation names it: it stays
 * when the stack no longer lists it. A taint with the same key and effect but another value gets the stack's value.
 *
 * @param before the taints that the last run recorded as the stack's.
 * @returns the taints that are the stack's now.
 * @throws Failure if there is no such node, or Kubernetes does not answer.
 */
export async function taint(
  task: TaintTask,
  before: NodeTaintState[] = [],
  nodes: TaintedNodes,
  clock: Clock,
  report: Report,
): Promise<NodeTaintState[]> {
  const wants = (task.taints ?? []).length > 0;
  const why = wants ? MISSING : LEFT;
  const change = (): Promise<NodeTaintState[] | undefined> =>
    bring(task, before, nodes, why, report);
  if (!wants && before.length === 0) return once(change, report);
  const own = await waitOrFail(
    clock,
    { ...lastAnswer, look: async () => ({ done: await change() }) },
    (within) => ({
      field: fieldOf(task),
      problem: `Kubernetes did not answer ${within}`,
      why,
      remedy: `make sure that \`kubectl get node ${task.machine}\` answers, then run again`,
    }),
  );
  if (own === undefined && wants)
    throw stopped(
      task,
      "the cluster has no node of this name",
      why,
      "check the machine's name and the kubeconfig",
    );
  return own ?? [];
}

/**
 * Removes the stack's taints from the node of a machine that leaves the stack. A taint whose value changed since stays.
 *
 * @throws Failure if the stack has taints on the node, and Kubernetes does not answer.
 */
export async function untaint(
  machine: string,
  before: NodeTaintState[] = [],
  nodes: TaintedNodes,
  clock: Clock,
  report: Report,
): Promise<void> {
  const change = (): Promise<NodeTaintState[] | undefined> =>
    bring({ machine }, before, nodes, LEFT, report);
  if (before.length === 0) await once(change, report);
  else await askLast({ clock, machine, who: "Kubernetes", part: taintsPart }, change);
}

/**
 * Tries the change once, for a stack without known taints. Only a run whose answer was lost can have left a taint,
 * which the node's annotation then names; that is not worth a wait.
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
      `untaint: the stack has no record of a taint, and could not check the node (${lastLine(error)})`,
    );
    return [];
  }
}

/**
 * Reads, changes and writes the taints; repeats this if the node changed in between.
 *
 * @param why the consequence if this fails.
 * @returns the taints that are the stack's now; undefined if the cluster has no such node.
 */
async function bring(
  task: TaintTask,
  known: NodeTaintState[],
  nodes: TaintedNodes,
  why: string,
  report: Report,
): Promise<NodeTaintState[] | undefined> {
  const { machine, taints = [] } = task;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = await nodes.taints(machine);
    if (found === undefined) return undefined;
    const before = [...known, ...found.ours];
    const ours = taints.filter((wanted) => !has(found.taints, wanted) || has(before, wanted));
    const dropped = before.filter((old) => !taints.some((wanted) => sameTaint(wanted, old)));
    const there = taints.reduce(putIn, without(found.taints, dropped));
    if (isDeepStrictEqual(there, found.taints) && taintMark(ours) === taintMark(found.ours))
      return ours;
    if (await nodes.setTaints(machine, { taints: there, ours }, found.version)) {
      tell("taint", without(there, found.taints), report);
      tell("untaint", without(found.taints, there), report);
      return ours;
    }
  }
  const problem = `the node changed during each of ${ATTEMPTS} attempts`;
  throw stopped(
    task,
    problem,
    why,
    "find out which program keeps changing the node, then run again",
  );
}

function tell(what: string, taints: NodeTaintState[], report: Report): void {
  if (taints.length > 0) report(`${what}: ${taints.map(({ key }) => key).join(", ")}`);
}

const without = (taints: NodeTaintState[], dropped: NodeTaintState[]): NodeTaintState[] =>
  taints.filter((there) => !has(dropped, there));

/** Adds a taint to the list in place of one with the same key and effect: Kubernetes allows only one of each pair. */
function putIn(taints: NodeTaintState[], wanted: NodeTaintState): NodeTaintState[] {
  const at = taints.findIndex((there) => sameTaint(there, wanted));
  return at < 0 ? [...taints, wanted] : has(taints, wanted) ? taints : taints.with(at, wanted);
}

const sameTaint = (one: NodeTaintState, other: NodeTaintState): boolean =>
  one.key === other.key && one.effect === other.effect;

const has = (taints: NodeTaintState[], wanted: NodeTaintState): boolean =>
  taints.some((there) => sameTaint(there, wanted) && (there.value ?? "") === (wanted.value ?? ""));

const fieldOf = ({ machine }: TaintTask): string => `machines.${machine}.taints`;

const stopped = (task: TaintTask, problem: string, why: string, remedy: string): Failure =>
  new Failure({ field: fieldOf(task), problem, why, remedy });
