import { waitOrFail } from "../../../clients/clock";
import { isTransient, problemAt } from "../../../clients/failure";
import type { NodeState } from "../kubernetes/cluster";
import { bringsOf, CORDONED_BY, isCordonedByUs } from "../kubernetes/cordon-mark";
import { type NodeCluster, type Run, upTo } from "./run";
import texts from "../texts.json";

/** What an earlier run that was cut off has left: its cordon, or a machine that is seen to be down. */
export interface EarlierRun {
  /** Whether the node is cordoned by us; undefined where Kubernetes did not answer. */
  cordoned: boolean | undefined;
  maybeDown: boolean;
  /** Schematics that it was about to bring. */
  brings: string[];
}

/**
 * Asks once what an earlier run left. A control plane may be the one that serves Kubernetes, so no answer from there counts
 * as a machine that may be down.
 */
export async function earlierRun({ task, cluster }: Run): Promise<EarlierRun> {
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
export async function isStillCordoned({ cluster, clock, task, limits, poll, phases }: Run): Promise<boolean> {
  if (cluster === undefined) return false;
  const { machine: node } = task;
  const limit = limits.verify;
  const look = async () => ({ done: isCordonedByUs(await lookAt(node, cluster)) });
  const says = `waiting ${upTo(limit)} for Kubernetes to say whether the node is cordoned`;
  return phases.run("compare", says, () =>
    waitOrFail(clock, { limit, poll, look }, (within) =>
      problemAt(`machines.${node}`, texts.cordoned, { within, node }),
    ),
  );
}
