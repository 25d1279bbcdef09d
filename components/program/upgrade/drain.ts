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
 * Milliseconds to wait for volumes to detach after the last evicted pod has ended. Volumes of pods that stay, e.g. of a
 * DaemonSet, never detach.
 */
const DETACHING = 120_000;

/** Evicts the node's pods, if the stack wants a drain. */
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
 * Cordons the node if needed, and evicts its pods. Pods of DaemonSets and mirrors of static pods stay, as in kubectl's
 * and Talos' own drain; bare pods and pods with emptyDir are evicted, as in Talos' drain (talos v1.13.0
 * cmd/talosctl/pkg/talos/nodedrain). The function does nothing if Kubernetes lacks the node, or if the cluster has no
 * other node. While the node is not ready, no kubelet reports that a pod has ended. So a pod whose deletion was
 * requested then counts as gone.
 *
 * @returns one line about the result.
 * @throws Failure if pods are left at the limit. The failure names these pods; the node stays cordoned.
 */
export async function evictPods({
  cluster,
  clock,
  task,
  limits,
  poll,
  report,
}: Evicting): Promise<string> {
  const { machine: node, schematicId } = task;
  const limit = limits.drain;
  /** Whether another tool or user cordoned the node; undefined before the first check. */
  let isCordonedByOthers: boolean | undefined;
  const refusals = new Map<string, string>();
  /** Pods whose eviction Kubernetes accepted. */
  const evictedPods = new Set<string>();
  const end = clock.now() + limit;
  const reported = new Set<string>();
  let remainingPods: PodState[] = [];
  let emptySince: number | undefined;
  /** The drain's result for a node without pods; undefined while volumes may still detach. */
  const drainedText = async (): Promise<string | undefined> => {
    emptySince ??= clock.now();
    const volumes = (await cluster.attachedVolumes(node)) ?? [];
    if (volumes.length === 0) return `node ${node} is drained`;
    if (clock.now() + poll < Math.min(emptySince + DETACHING, end)) return undefined;
    return `node ${node} is drained; warning: volumes are still attached to it (${volumes.join(", ")}), so their pods may start late on other nodes`;
  };
  const look = async () => {
    const state = await cluster.node(node);
    if (state === undefined) return { done: `node ${node} is not in Kubernetes, nothing to drain` };
    if (isCordonedByOthers === undefined) {
      if (await cluster.isAlone())
        return { done: `node ${node} is not drained: it is the cluster's only node` };
      const wasCordoned = state.unschedulable && state.annotations[CORDONED_BY] === undefined;
      // Earlier updates stay in the mark: this update may fail before it installs its own schematic.
      const mark = [...new Set([schematicId, ...bringsOf(state)])].join();
      if (!wasCordoned) await cluster.cordon(node, CORDONED_BY, mark);
      isCordonedByOthers = wasCordoned;
    }
    remainingPods = (await cluster.pods(node)).filter(
      (pod) => mustGo(pod) && (state.ready || !pod.terminating),
    );
    if (remainingPods.length === 0) {
      const drainedMessage = await drainedText();
      return typeof drainedMessage === "string"
        ? { done: drainedMessage }
        : { not: "volumes attached" };
    }
    for (const pod of remainingPods) {
      // An answer may take seconds, and there may be many pods.
      if (clock.now() >= end) break;
      if (!reported.has(pod.uid)) for (const cost of costOf(pod)) report(`drain: ${cost}`);
      reported.add(pod.uid);
      // No eviction for a pod that is already being deleted: in a namespace that is being deleted, the API would always
      // refuse it.
      const { refused } = pod.terminating ? {} : await cluster.evict(pod);
      if (refused === undefined) refusals.delete(pod.uid);
      else refusals.set(pod.uid, refused);
      if (refused === undefined) evictedPods.add(pod.uid);
    }
    return { not: `${remainingPods.length} pods left` };
  };
  const failureOf = (problem: string, whatDecides: string): FieldFinding => {
    const cordonText = isCordonedByOthers === undefined ? "" : `, and node ${node} stays cordoned`;
    const nextStep = isCordonedByOthers
      ? "Then run again. The node was already cordoned before this update"
      : `Then run again, or abandon the update with \`${uncordonCommand(node)}\``;
    return {
      field: `machines.${node}`,
      problem,
      why: `the machine was not upgraded and not rebooted${cordonText}`,
      remedy: `${whatDecides}. ${nextStep}`,
    };
  };
  const findingOfPod = (pod: PodState, lastMessage: string): FieldFinding => {
    const refusal = pod.terminating ? undefined : refusals.get(pod.uid);
    const wasAsked = pod.terminating || refusal !== undefined || evictedPods.has(pod.uid);
    const { reason, decides } = wasAsked ? holding(pod, refusal) : unanswered(lastMessage);
    const problem = `pod ${pod.namespace}/${pod.name} did not end within ${formatDuration(limit)}: ${reason}`;
    return failureOf(problem, decides);
  };
  const advice = `look at \`kubectl get pods -A --field-selector spec.nodeName=${node}\``;
  return waitOrFail(
    clock,
    { limit, poll, look },
    (limitText, lastMessage) =>
      remainingPods.length === 0
        ? failureOf(`its pods did not end ${limitText}`, advice)
        : remainingPods.map((pod) => findingOfPod(pod, lastMessage)),
    (message) => failureOf(`its pods could not be evicted: ${message}`, advice),
  );
}

/**
 * Whether the machine runs no pods and the Kubernetes API does not answer. This happens if Talos has paused the boot of
 * the only control plane: no API answers for a drain, and there is nothing to drain.
 */
export async function runsNothing({ machine, cluster, task, clock }: Run): Promise<boolean> {
  if (cluster === undefined) return false;
  const { cri, kubelet } = await machine.services();
  if (cri === "Running" || kubelet === "Running") {
    // A kubelet that fails at every start shows as running for moments, but has started no pod in this boot.
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

/**
 * Makes the node schedulable again once it is ready, if this run or an earlier run cordoned it. If the machine awaits
 * its smoke test, the node stays cordoned: a pod that waits for a GPU could otherwise take the card before the test.
 *
 * @param wasCordoned whether an earlier run left the node cordoned.
 * @returns whether the node stays cordoned for the smoke test.
 */
export async function uncordon(run: Run, wasCordoned: boolean): Promise<boolean> {
  const { cluster, limits, report } = run;
  if (cluster === undefined) return false;
  const { machine: node, awaitsTest, reboots } = run.task;
  // No smoke test follows `talos-gpu reboot`. It keeps only a cordon that an update has left for the test.
  const awaitsGate = awaitsTest === true && (reboots !== true || wasCordoned);
  const ended = (line: string, staysCordoned = false) => ({ done: { line, staysCordoned } });
  const look = async (): Promise<ReturnType<typeof ended> | { not: string }> => {
    const state = await cluster.node(node);
    if (state === undefined) return ended(`node ${node} is not in Kubernetes`);
    if (state.annotations[CORDONED_BY] === undefined) {
      if (state.unschedulable && CORDONED_BY_TALOS in state.annotations)
        return { not: "Talos still cordons it" };
      const stateText = state.unschedulable
        ? "stays cordoned, because this stack did not cordon it"
        : "is not cordoned";
      return ended(`node ${node} ${stateText}`);
    }
    if (!state.ready) return { not: "not ready" };
    // Before the uncordon. Otherwise the scheduler could place pods first.
    await run.taint?.();
    if (awaitsGate)
      return ended(
        `node ${node} stays cordoned until its smoke test has passed; to let it take pods before, run \`${uncordonCommand(node)}\``,
        true,
      );
    await cluster.uncordon(node, CORDONED_BY);
    return ended(`node ${node} is schedulable again`);
  };
  const { line, staysCordoned } = await waitIn(
    run,
    "uncordon",
    limits.verify,
    "the node",
    look,
    (limitText) => ({
      field: `machines.${node}`,
      problem: `its node was not ready after the reboot ${limitText}`,
      why: "pods would not start there, so the node stays cordoned",
      remedy: `look at \`kubectl describe node ${node}\`, then run again`,
    }),
  );
  report(line);
  return staysCordoned;
}

const mustGo = (pod: PodState): boolean =>
  pod.controller !== "DaemonSet" && !pod.mirror && !pod.finished;

/**
 * What an earlier run that was killed has left behind. `cordoned` says whether the run cordoned the node (undefined if
 * Kubernetes does not answer). `maybeDown` says whether the machine may be down. `brings` lists the schematics that the
 * run was about to install. If Kubernetes does not answer, `maybeDown` is true for a control plane, because this
 * machine may be the one that serves the API.
 */
export async function earlierRun({ task, cluster }: Run) {
  if (cluster === undefined) return { cordoned: false, maybeDown: false, brings: [] };
  try {
    const node = await readNode(task.machine, cluster);
    const cordoned = isCordonedByUs(node);
    return { cordoned, maybeDown: cordoned || node?.ready === false, brings: bringsOf(node) };
  } catch (error) {
    if (!isTransient(error)) throw error;
    return { cordoned: undefined, maybeDown: task.role === "controlplane", brings: [] };
  }
}

/**
 * Reads a node. If the node has the annotation `CORDONED_BY` but is not cordoned, a user has uncordoned it. The
 * function then removes the annotation, so that this program does not take the user's next cordon for its own.
 */
async function readNode(name: string, cluster: NodeCluster): Promise<NodeState | undefined> {
  const node = await cluster.node(name);
  if (node !== undefined && !node.unschedulable && node.annotations[CORDONED_BY] !== undefined)
    await cluster.removeAnnotation(name, CORDONED_BY);
  return node;
}

/**
 * Waits until Kubernetes says whether an earlier run left the node cordoned. This is for a run in which Kubernetes did
 * not answer at first: an API server on the same machine answers later than the machine.
 */
export async function isStillCordoned(run: Run): Promise<boolean> {
  const { cluster, limits } = run;
  if (cluster === undefined) return false;
  const { machine: node } = run.task;
  const look = async () => ({ done: isCordonedByUs(await readNode(node, cluster)) });
  return waitIn(
    run,
    "compare",
    limits.verify,
    "Kubernetes to say whether the node is cordoned",
    look,
    (limitText) => ({
      field: `machines.${node}`,
      problem: `Kubernetes did not answer ${limitText}, so it is unknown whether an earlier run left the node cordoned`,
      why: "the machine agrees with the stack, but a cordoned node gets no pods",
      remedy: `make sure that \`kubectl get node ${node}\` answers, then run again`,
    }),
  );
}
