import { isDeepStrictEqual } from "node:util";
import { Failure } from "../failure";
import type { Report } from "../progress";
import type { NodeTaintState, TaintResult, TaintTask } from "../task";

/** Nodes of a cluster, as far as their taints go. */
export interface TaintedNodes {
  /** Taints of a node and the version that they are of; undefined when the cluster has no such node. */
  taints(node: string): Promise<{ taints: NodeTaintState[]; version: string } | undefined>;
  /** Sets all taints of a node, provided that it is of that version still. False when it is not. */
  setTaints(node: string, taints: NodeTaintState[], version: string): Promise<boolean>;
}

/** A node's status changes every few seconds, and each change is a version: a lost race is tried again. */
const ATTEMPTS = 20;

/**
 * Puts the stack's taints onto the node and leaves all others there. To Kubernetes the taints of a node are one list, so
 * whoever applies a list takes away what others added meanwhile; here it is read, merged by key and effect, and written
 * only onto the version that was read.
 *
 * A taint that is there as wanted already is not ours: `untaint` will leave it. One of the same key and effect with another
 * value gets the stack's value.
 *
 * @param previous answer of the last run: its taints that are no longer wanted go.
 */
export async function taint(
  task: TaintTask,
  previous: TaintResult | undefined,
  nodes: TaintedNodes,
  report: Report,
): Promise<TaintResult> {
  const before = previous?.added ?? [];
  let added: NodeTaintState[] = [];
  const changed = await change(task, nodes, (taints) => {
    added = task.taints.filter((wanted) => !has(taints, wanted) || has(before, wanted));
    const dropped = before.filter((old) => !task.taints.some((wanted) => sameTaint(wanted, old)));
    const kept = taints.filter((there) => !has(dropped, there));
    return task.taints.reduce(putIn, kept);
  });
  report(changed ? `taint: ${task.taints.map(({ key }) => key).join(", ")}` : "equal: the node has its taints");
  return { added, changed };
}

/**
 * Takes a machine's taints off its node as soon as the stack has none for it any more. Pulumi would run `untaint` at the very end
 * of the update, and by then nothing tolerates them: the smoke test, which comes before the end, could never run.
 *
 * @param before the stack's own among its taints when the machine was looked at last (`ownTaints`).
 */
export async function dropTaints(
  { machine, taints = [] }: { machine: string; taints?: NodeTaintState[] | undefined },
  before: NodeTaintState[] = [],
  nodes: TaintedNodes | undefined,
  report: Report,
): Promise<void> {
  if (taints.length > 0 || before.length === 0 || nodes === undefined) return;
  if ((await nodes.taints(machine)) === undefined) return;
  const task = { machine, taints: [] };
  const changed = await change(task, nodes, (there) => there.filter((taint) => !has(before, taint)));
  if (changed) report(`untaint: ${before.map(({ key }) => key).join(", ")}, which the stack no longer has`);
}

/**
 * Which of the stack's taints are its own, before `taint` runs: all but those that the node has already from somebody else. They
 * stay when the stack no longer lists them.
 *
 * @param before those that were its own when the machine was looked at last.
 */
export async function ownTaints(
  { machine, taints = [] }: { machine: string; taints?: NodeTaintState[] | undefined },
  before: NodeTaintState[] = [],
  nodes: TaintedNodes | undefined,
): Promise<NodeTaintState[]> {
  const added = taints.filter((wanted) => !has(before, wanted));
  if (added.length === 0 || nodes === undefined) return taints;
  const there = (await nodes.taints(machine))?.taints ?? [];
  return taints.filter((wanted) => has(before, wanted) || !has(there, wanted));
}

/** Takes away what `taint` added, unless somebody gave it another value since. */
export async function untaint(
  task: TaintTask,
  previous: TaintResult | undefined,
  nodes: TaintedNodes,
  report: Report,
): Promise<{ changed: boolean }> {
  const added = previous?.added ?? [];
  // A node that is gone has no taint to take away.
  if (added.length === 0 || (await nodes.taints(task.machine)) === undefined) return { changed: false };
  const changed = await change(task, nodes, (taints) => taints.filter((there) => !has(added, there)));
  report(changed ? `untaint: ${added.map(({ key }) => key).join(", ")}` : "untaint: they are gone already");
  return { changed };
}

/** Reads, changes and writes; again when somebody else was faster. */
async function change(
  task: TaintTask,
  nodes: TaintedNodes,
  make: (taints: NodeTaintState[]) => NodeTaintState[],
): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = await nodes.taints(task.machine);
    if (found === undefined) {
      throw stopped(task, "the cluster has no node of this name", "check the machine's name and the kubeconfig");
    }
    const wanted = make(found.taints);
    if (isDeepStrictEqual(wanted, found.taints)) return false;
    if (await nodes.setTaints(task.machine, wanted, found.version)) return true;
  }
  throw stopped(task, `the node changed under ${ATTEMPTS} attempts`, "run again; see what keeps writing to the node");
}

/** A taint takes the place of the one with its key and effect: Kubernetes allows one of each. */
function putIn(taints: NodeTaintState[], wanted: NodeTaintState): NodeTaintState[] {
  const at = taints.findIndex((there) => sameTaint(there, wanted));
  return at < 0 ? [...taints, wanted] : has(taints, wanted) ? taints : taints.with(at, wanted);
}

const sameTaint = (one: NodeTaintState, other: NodeTaintState): boolean =>
  one.key === other.key && one.effect === other.effect;

const has = (taints: NodeTaintState[], wanted: NodeTaintState): boolean =>
  taints.some((there) => sameTaint(there, wanted) && (there.value ?? "") === (wanted.value ?? ""));

function stopped({ machine }: TaintTask, problem: string, remedy: string): Failure {
  const why = "without its taints, pods that do not belong there take the GPU machine";
  return new Failure([{ field: `machines.${machine}.taints`, problem, why, remedy }]);
}
