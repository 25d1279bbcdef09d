import { isTransient, problemAt } from "../../../clients/failure";
import type { NodeState } from "../kubernetes/cluster";
import { bringsOf, CORDONED_BY, isCordonedByUs } from "../kubernetes/cordon-mark";
import { type NodeCluster, type Run, waitIn } from "./run";
import texts from "../texts.json";

/**
 * Asks once what an earlier run that was cut off has left: its cordon (undefined where Kubernetes does not answer), a machine that may be
 * down, and the schematics that it was about to bring. A control plane may be the one that serves Kubernetes, so no answer from there
 * counts as a machine that may be down.
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

/** Reads a node. Somebody has uncordoned one that takes pods and bears our mark: the mark goes, so that their next cordon is theirs. */
async function lookAt(name: string, cluster: NodeCluster): Promise<NodeState | undefined> {
  const node = await cluster.node(name);
  if (node !== undefined && !node.unschedulable && node.annotations[CORDONED_BY] !== undefined)
    await cluster.unmark(name, CORDONED_BY);
  return node;
}

/**
 * Waits until Kubernetes says whether an earlier run left the node cordoned, where it did not say so before the machine was reached: an
 * API server that boots with the machine answers a while after the machine does.
 */
export async function isStillCordoned(run: Run): Promise<boolean> {
  const { cluster, limits } = run;
  if (cluster === undefined) return false;
  const { machine: node } = run.task;
  const look = async () => ({ done: isCordonedByUs(await lookAt(node, cluster)) });
  return waitIn(run, "compare", limits.verify, "Kubernetes to say whether the node is cordoned", look, (within) =>
    problemAt(`machines.${node}`, texts.cordoned, { within, node }),
  );
}
