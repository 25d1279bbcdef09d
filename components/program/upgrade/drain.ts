import type { UpgradeLimits } from "../../recipe/effect/upgrade-phases";
import { formatDuration } from "../../recipe/rules/duration";
import { insist, waitOrFail } from "../../clients/clock";
import { isTransient, type FieldFinding } from "../../clients/failure";
import { costOf, holding, unanswered } from "./leaving-pods";
import type { Cluster, NodeState, PodState } from "../cluster/cluster";
import { kubeletFails } from "../../clients/talos/console";
import {
  bringsOf,
  CORDONED_BY,
  CORDONED_BY_TALOS,
  isCordonedByUs,
  uncordonCommand,
} from "../cluster/cordon-mark";
import type { UpgradeTask } from "../task";
import { type NodeCluster, type Run, upTo, waitIn } from "./run";

/**
 * Milliseconds that volumes have to be detached once no pod is left: those of pods that stay, of a DaemonSet say,
 * never are.
 */
const DETACHING = 120_000;

/** Evicts the node's pods, where the stack wants it. */
export async function drain(run: Run): Promise<void> {
  const { task, cluster, limits, report } = run;
  if (!task.drain || cluster === undefined) return;
  report(
    await run.phases.run("drain", `evicting pods, ${upTo(limits.drain)}`, () =>
      evictPods({ ...run, cluster }),
    ),
  );
}

/** Inputs of an eviction. */
type Evicting = Pick<Run, "clock" | "poll" | "report"> & {
  cluster: Pick<Cluster, "node" | "isAlone" | "cordon" | "pods" | "evict" | "attachedVolumes">;
  task: Pick<UpgradeTask, "machine" | "schematicId">;
  limits: Pick<UpgradeLimits, "drain">;
};

/**
 * Cordons the node unless it is cordoned already, and evicts its pods. Pods of DaemonSets and mirrors of static pods
 * stay, as with kubectl's and Talos' own drain; bare pods and pods with emptyDir go, as with Talos' (talos v1.13.0
 * cmd/talosctl/pkg/talos/nodedrain). A node that Kubernetes does not know has nothing to drain, and the only node of
 * a cluster has nowhere to drain to. While the node is not ready, no kubelet reports that a pod has ended: one whose
 * deletion was requested counts as gone.
 *
 * @returns one line on what was done.
 * @throws Failure when pods are left at the limit; it names them and the node that stays cordoned.
 */
export async function evictPods({
  cluster,
  clock,
  task,
  limits,
  poll,
  report,
}: Evicting): Promise<string> {
  const { machine: node, schematicId: brings } = task;
  const limit = limits.drain;
  /** Whether another tool or user cordoned it; undefined before it was looked at. */
  let foreign: boolean | undefined;
  const refusals = new Map<string, string>();
  /** Pods whose eviction was taken on. */
  const going = new Set<string>();
  const end = clock.now() + limit;
  const reported = new Set<string>();
  let left: PodState[] = [];
  let emptySince: number | undefined;
  /** Text for a node without pods; undefined while volumes may still be detached. */
  const stillAttached = async (): Promise<string | undefined> => {
    emptySince ??= clock.now();
    const volumes = (await cluster.attachedVolumes(node)) ?? [];
    if (volumes.length === 0) return `node ${node} is drained`;
    if (clock.now() + poll < Math.min(emptySince + DETACHING, end)) return undefined;
    return `node ${node} is drained; warning: ${volumes.join(", ")} still attached to it, so their next pods elsewhere may have to wait`;
  };
  const look = async () => {
    const state = await cluster.node(node);
    if (state === undefined) return { done: `node ${node} is not in Kubernetes, nothing to drain` };
    if (foreign === undefined) {
      if (await cluster.isAlone())
        return { done: `node ${node} is the only one, its pods have nowhere to go: not drained` };
      const cordoned = state.unschedulable && state.annotations[CORDONED_BY] === undefined;
      // The record of an earlier update stays: this update may fail before it writes its own.
      const mark = [...new Set([brings, ...bringsOf(state)])].join();
      if (!cordoned) await cluster.cordon(node, CORDONED_BY, mark);
      foreign = cordoned;
    }
    left = (await cluster.pods(node)).filter(
      (pod) => mustGo(pod) && (state.ready || !pod.terminating),
    );
    if (left.length === 0) {
      const drained = await stillAttached();
      return typeof drained === "string" ? { done: drained } : { not: "volumes attached" };
    }
    for (const pod of left) {
      // An answer may take seconds, and there may be many pods.
      if (clock.now() >= end) break;
      if (!reported.has(pod.uid)) for (const cost of costOf(pod)) report(`drain: ${cost}`);
      reported.add(pod.uid);
      // A pod that is already being deleted is not reported again: in a namespace that is being deleted the API
      // always refuses that.
      const { refused } = pod.terminating ? {} : await cluster.evict(pod);
      if (refused === undefined) refusals.delete(pod.uid);
      else refusals.set(pod.uid, refused);
      if (refused === undefined) going.add(pod.uid);
    }
    return { not: `${left.length} pods left` };
  };
  const failed = (problem: string, decides: string): FieldFinding => {
    const cordoned = foreign === undefined ? "" : `; node ${node} is left cordoned`;
    const next = foreign
      ? "then run again; the node was already cordoned before this update"
      : `then run again, or \`${uncordonCommand(node)}\` to give up`;
    return {
      field: `machines.${node}`,
      problem,
      why: `the machine was not upgraded and not rebooted${cordoned}`,
      remedy: `${decides}${next}`,
    };
  };
  const stayed = (pod: PodState, last: string): FieldFinding => {
    const refused = pod.terminating ? undefined : refusals.get(pod.uid);
    const wasAsked = pod.terminating || refused !== undefined || going.has(pod.uid);
    const { reason, decides } = wasAsked ? holding(pod, refused) : unanswered(last);
    const problem = `pod ${pod.namespace}/${pod.name} did not go within ${formatDuration(limit)}: ${reason}`;
    return failed(problem, `${decides}; `);
  };
  const withPods = `look at \`kubectl get pods -A --field-selector spec.nodeName=${node}\`, `;
  return waitOrFail(
    clock,
    { limit, poll, look },
    (within, last) =>
      left.length === 0
        ? failed(`its pods did not go ${within}`, withPods)
        : left.map((pod) => stayed(pod, last)),
    (message) => failed(`its pods could not be evicted: ${message}`, withPods),
  );
}

/**
 * Whether nothing of Kubernetes runs on the machine, and its API does not answer: a control plane whose own boot is
 * paused serves no API that could be asked for a drain, and has nothing to drain.
 */
export async function runsNothing({ machine, cluster, task, clock }: Run): Promise<boolean> {
  if (cluster === undefined) return false;
  const { cri, kubelet } = await machine.services();
  if (cri === "Running" || kubelet === "Running") {
    // One that fails at every start is running now and then, and has started nothing in this boot.
    const fails = (await machine.bootErrors()).some((error) => error.startsWith(kubeletFails));
    if (!fails) return false;
  }
  return insist(clock, () => cluster.node(task.machine)).then(
    () => false,
    (error: unknown) => {
      if (!isTransient(error)) throw error;
      return true;
    },
  );
}

/** Makes the node schedulable again, once it is ready, if an earlier run or this one cordoned it. */
export async function uncordon(run: Run): Promise<void> {
  const { cluster, limits, report } = run;
  if (cluster === undefined) return;
  const { machine: node } = run.task;
  const look = async (): Promise<{ done: string } | { not: string }> => {
    const state = await cluster.node(node);
    if (state === undefined) return { done: `node ${node} is not in Kubernetes` };
    if (state.annotations[CORDONED_BY] === undefined) {
      if (state.unschedulable && CORDONED_BY_TALOS in state.annotations)
        return { not: "Talos still cordons it" };
      const is = state.unschedulable
        ? "stays cordoned, since this stack did not cordon it"
        : "is not cordoned";
      return { done: `node ${node} ${is}` };
    }
    if (!state.ready) return { not: "not ready" };
    await run.taint?.(); // after the uncordon the scheduler would be first
    await cluster.uncordon(node, CORDONED_BY);
    return { done: `node ${node} takes pods again` };
  };
  const done = await waitIn(run, "uncordon", limits.verify, "the node", look, (within) => ({
    field: `machines.${node}`,
    problem: `its node was not ready after the reboot ${within}`,
    why: "pods would not start there, so it is left cordoned",
    remedy: `look at \`kubectl describe node ${node}\`, then run again`,
  }));
  report(done);
}

const mustGo = (pod: PodState): boolean =>
  pod.controller !== "DaemonSet" && !pod.mirror && !pod.finished;

/**
 * Asks once what an earlier run that was cut off has left: its cordon (undefined where Kubernetes does not answer), a
 * machine that may be down, and the schematics that it was about to bring. A control plane may be the one that serves
 * Kubernetes, so no answer from there counts as a machine that may be down.
 */
export async function earlierRun({ task, cluster }: Run) {
  if (cluster === undefined) return { cordoned: false, maybeDown: false, brings: [] };
  try {
    const node = await lookAt(task.machine, cluster);
    const cordoned = isCordonedByUs(node);
    return { cordoned, maybeDown: cordoned || node?.ready === false, brings: bringsOf(node) };
  } catch (error) {
    if (!isTransient(error)) throw error;
    return { cordoned: undefined, maybeDown: task.role === "controlplane", brings: [] };
  }
}

/**
 * Reads a node. If a node with our mark takes pods, it was uncordoned by hand: the mark goes, so that their next
 * cordon is theirs.
 */
async function lookAt(name: string, cluster: NodeCluster): Promise<NodeState | undefined> {
  const node = await cluster.node(name);
  if (node !== undefined && !node.unschedulable && node.annotations[CORDONED_BY] !== undefined)
    await cluster.unmark(name, CORDONED_BY);
  return node;
}

/**
 * Waits until Kubernetes says whether an earlier run left the node cordoned, where it did not say so before the
 * machine was reached: an API server that boots with the machine answers a while after the machine does.
 */
export async function isStillCordoned(run: Run): Promise<boolean> {
  const { cluster, limits } = run;
  if (cluster === undefined) return false;
  const { machine: node } = run.task;
  const look = async () => ({ done: isCordonedByUs(await lookAt(node, cluster)) });
  return waitIn(
    run,
    "compare",
    limits.verify,
    "Kubernetes to say whether the node is cordoned",
    look,
    (within) => ({
      field: `machines.${node}`,
      problem: `Kubernetes did not answer ${within}, so it is unknown whether an earlier run left the node cordoned`,
      why: "the machine matches the stack, but a node that stays cordoned takes no pods",
      remedy: `see that \`kubectl get node ${node}\` answers, then run again`,
    }),
  );
}
