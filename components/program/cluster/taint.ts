import { isDeepStrictEqual } from "node:util";
import { waitOrFail, type Clock } from "../../clients/clock";
import { CallError, Failure, lastLine } from "../../clients/failure";
import type { Report } from "../progress";
import { askLast, lastAnswer } from "../removal";
import type { NodeTaintState, UpgradeTask } from "../task";
import type { Cluster } from "./cluster";
import { taintMark } from "./taint-mark";

/** Nodes of a cluster, as far as their taints go. */
export type TaintedNodes = Pick<Cluster, "taints" | "setTaints">;

/** A node's status changes every few seconds, and each change is a version: a lost race is tried again. */
const ATTEMPTS = 20;

/** Consequence of taints that the update could not set. */
const MISSING = "without its taints, pods that do not belong there take the GPU machine";

/** Consequence of taints that the update could not remove. */
const LEFT =
  "the stack's taints could not be taken off the node, and keep pods away that do not tolerate them";

const taintsPart = { ending: "-upgrade", why: LEFT };

/** A node, and the stack's taints that it should have. */
export type TaintTask = Pick<UpgradeTask, "machine" | "taints">;

/**
 * Puts the stack's taints onto the node, takes off those that it no longer wants, and leaves all others there. To
 * Kubernetes the taints of a node are one list, so an applied list takes away what others added meanwhile; here it is
 * read, merged by key and effect, and written only onto the version that was read.
 *
 * An existing taint that is as wanted is not ours, unless the node's annotation names it. It stays when the stack no
 * longer lists it. One of the same key and effect with another value gets the stack's value.
 *
 * @param before the stack's own when the machine was looked at last.
 * @returns those that are its own now.
 * @throws Failure where there is no such node, or Kubernetes does not answer.
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
      remedy: `see that \`kubectl get node ${task.machine}\` answers, then run again`,
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
 * Takes the stack's taints off the node of a machine that leaves the stack, unless they have another value since.
 *
 * @throws Failure where it has some of its own, and Kubernetes does not answer.
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
 * If the stack has no known taint, only a lost reply of `taint` can have left one; the node's annotation records it:
 * that is looked for once, and not waited for.
 */
async function once(
  change: () => Promise<NodeTaintState[] | undefined>,
  report: Report,
): Promise<NodeTaintState[]> {
  try {
    return (await change()) ?? [];
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    report(`untaint: the stack added none, and the node was not looked at (${lastLine(error)})`);
    return [];
  }
}

/**
 * Reads, changes and writes; again if another change was faster.
 *
 * @param why what it means where that fails.
 * @returns the stack's own; undefined where the cluster has no such node, and so nothing to take away either.
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
    "run again, and find out which program keeps changing the node",
  );
}

function tell(what: string, taints: NodeTaintState[], report: Report): void {
  if (taints.length > 0) report(`${what}: ${taints.map(({ key }) => key).join(", ")}`);
}

const without = (taints: NodeTaintState[], dropped: NodeTaintState[]): NodeTaintState[] =>
  taints.filter((there) => !has(dropped, there));

/** A taint replaces the one with its key and effect: Kubernetes allows only one of each pair. */
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
