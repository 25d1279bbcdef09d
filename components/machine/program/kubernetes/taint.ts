import { isDeepStrictEqual } from "node:util";
import { waitOrFail, type Clock } from "../../../clients/clock";
import { CallError, Failure, lastLine } from "../../../clients/failure";
import type { Report } from "../progress";
import { askLast, type RemovedPart } from "../removal";
import type { NodeTaintState, TaintResult, TaintTask } from "../task";
import type { Cluster } from "./cluster";
import { type NodeTaints, taintMark } from "./taint-mark";
import { faultOf } from "../../../recipe/rules/fault";
import texts from "../texts.json";

/** Nodes of a cluster, as far as their taints go. */
export type TaintedNodes = Pick<Cluster, "taints" | "setTaints">;

/** Milliseconds in which Kubernetes has to answer: less than Pulumi gives the resource, so that the program's own words come first. */
const LIMIT = 240_000;

/** Milliseconds between two tries. */
const POLL = 1_000;

/** A node's status changes every few seconds, and each change is a version: a lost race is tried again. */
const ATTEMPTS = 20;

/** What it means that taints could not be put on. */
const MISSING = "without its taints, pods that do not belong there take the GPU machine";

/** What it means that taints could not be taken off. */
const LEFT = "the stack's taints could not be taken off the node, and keep pods away that do not tolerate them";

const taintsPart: RemovedPart = { ending: "-taints", why: LEFT };

/**
 * Puts the stack's taints onto the node and leaves all others there. To Kubernetes the taints of a node are one list, so
 * an applied list takes away what others added meanwhile; here it is read, merged by key and effect, and written
 * only onto the version that was read.
 *
 * A taint that is there as wanted already is not ours, unless the node's annotation says so: `untaint` will leave it. One of the same
 * key and effect with another value gets the stack's value.
 *
 * @param previous answer of the last run: its taints that are no longer wanted go.
 * @throws Failure where there is no such node, or Kubernetes does not answer.
 */
export async function taint(
  task: TaintTask,
  previous: TaintResult | undefined,
  nodes: TaintedNodes,
  clock: Clock,
  report: Report,
): Promise<TaintResult> {
  let added: NodeTaintState[] = [];
  const make = ({ taints, ours }: NodeTaints): NodeTaints => {
    const before = [...(previous?.added ?? []), ...ours];
    added = task.taints.filter((wanted) => !has(taints, wanted) || has(before, wanted));
    const dropped = before.filter((old) => !task.taints.some((wanted) => sameTaint(wanted, old)));
    const kept = taints.filter((there) => !has(dropped, there));
    return { taints: task.taints.reduce(putIn, kept), ours: added };
  };
  const changed = await patiently(task, clock, () => change(task, nodes, MISSING, make));
  if (changed === undefined)
    throw stopped(task, "the cluster has no node of this name", MISSING, "check the machine's name and the kubeconfig");
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
  clock: Clock,
  report: Report,
): Promise<void> {
  if (taints.length > 0 || before.length === 0 || nodes === undefined) return;
  const task = { machine, taints: [] };
  const changed = await patiently(task, clock, () => change(task, nodes, LEFT, without(before)), LEFT);
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
  clock: Clock,
): Promise<NodeTaintState[]> {
  const added = taints.filter((wanted) => !has(before, wanted));
  if (added.length === 0 || nodes === undefined) return taints;
  const found = await patiently({ machine, taints }, clock, () => nodes.taints(machine));
  const { taints: there, ours } = found ?? { taints: [], ours: [] };
  return taints.filter((wanted) => has(before, wanted) || has(ours, wanted) || !has(there, wanted));
}

/**
 * Takes away what `taint` added, unless somebody gave it another value since. Where it added nothing, only an answer of `taint` that
 * was lost can have left a taint, of which the node's annotation knows: that is looked for once, and not waited for.
 *
 * @returns whether a taint went.
 * @throws Failure where it added something, and Kubernetes does not answer.
 */
export async function untaint(
  task: TaintTask,
  previous: TaintResult | undefined,
  nodes: TaintedNodes,
  clock: Clock,
  report: Report,
): Promise<{ changed: boolean }> {
  const { machine } = task;
  const added = previous?.added ?? [];
  let gone: NodeTaintState[] = [];
  const takeOff = () =>
    change(task, nodes, LEFT, (found) => {
      const left = without(added)(found);
      gone = found.taints.filter((there) => !has(left.taints, there));
      return left;
    });
  if (added.length > 0) await askLast({ clock, machine, who: "Kubernetes", part: taintsPart }, takeOff);
  else {
    try {
      await takeOff();
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      report(`untaint: the stack added none, and the node was not looked at (${lastLine(error)})`);
      return { changed: false };
    }
  }
  report(gone.length > 0 ? `untaint: ${gone.map(({ key }) => key).join(", ")}` : "untaint: they are gone already");
  return { changed: gone.length > 0 };
}

/** Taints without those that were ours before and those that the annotation names. */
const without =
  (before: NodeTaintState[]) =>
  ({ taints, ours }: NodeTaints): NodeTaints => ({
    taints: taints.filter((there) => !has(before, there) && !has(ours, there)),
    ours: [],
  });

/**
 * Reads, changes and writes; again when somebody else was faster.
 *
 * @param why what it means where that fails.
 * @returns whether anything changed; undefined where the cluster has no such node, and so nothing to take away either.
 */
async function change(
  task: TaintTask,
  nodes: TaintedNodes,
  why: string,
  make: (found: NodeTaints) => NodeTaints,
): Promise<boolean | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const found = await nodes.taints(task.machine);
    if (found === undefined) return undefined;
    const wanted = make(found);
    if (isDeepStrictEqual(wanted.taints, found.taints) && taintMark(wanted.ours) === taintMark(found.ours))
      return false;
    if (await nodes.setTaints(task.machine, wanted, found.version)) return true;
  }
  const problem = `somebody else changed the node during each of ${ATTEMPTS} attempts`;
  throw stopped(task, problem, why, "run again, and find out which program keeps changing the node");
}

/** Asks again where Kubernetes does not answer. */
const patiently = <T>(task: TaintTask, clock: Clock, ask: () => Promise<T>, why = MISSING): Promise<T> =>
  waitOrFail(clock, { limit: LIMIT, poll: POLL, look: async () => ({ done: await ask() }) }, (within) => ({
    field: fieldOf(task),
    ...faultOf(texts.noAnswer, { within, why, task }),
  }));

/** A taint takes the place of the one with its key and effect: Kubernetes allows one of each. */
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
