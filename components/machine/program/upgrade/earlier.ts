import { formatDuration } from "../../duration";
import { LimitReached, waitFor } from "../clock";
import { Failure, isTransient } from "../failure";
import type { Cluster } from "../machine";
import type { UpgradeTask } from "../task";
import { CORDONED_BY, type Draining } from "./drain";

/** What an earlier run that was cut off has left: its cordon, or a machine that is seen to be down. */
export interface EarlierRun {
  /** Whether the node bears our mark; undefined where Kubernetes did not answer. */
  cordoned: boolean | undefined;
  maybeDown: boolean;
}

/**
 * Asks once what an earlier run left. A control plane may be the one that serves Kubernetes, so no answer from there counts
 * as a machine that may be down.
 */
export async function earlierRun(
  { machine, role }: Pick<UpgradeTask, "machine" | "role">,
  cluster: Cluster | undefined,
): Promise<EarlierRun> {
  if (cluster === undefined) return { cordoned: false, maybeDown: false };
  try {
    const node = await cluster.node(machine);
    const cordoned = node?.annotations[CORDONED_BY] !== undefined;
    return { cordoned, maybeDown: cordoned || node?.ready === false };
  } catch (error) {
    if (!isTransient(error)) throw error;
    return { cordoned: undefined, maybeDown: role === "controlplane" };
  }
}

/**
 * Waits until Kubernetes says whether the node bears our mark: an API server that boots with the machine answers a while after
 * the machine does.
 *
 * @throws Failure at the limit.
 */
export async function awaitCordonWord({ cluster, clock, node, limit, poll }: Draining): Promise<boolean> {
  try {
    return await waitFor(clock, {
      what: `Kubernetes to say whether node ${node} is cordoned`,
      limit,
      poll,
      look: async () => ({ done: (await cluster.node(node))?.annotations[CORDONED_BY] !== undefined }),
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw new Failure([
      {
        field: `machines.${node}`,
        problem: `whether an earlier run left its node cordoned is not known: Kubernetes did not answer within ${formatDuration(limit)} (last: ${error.missing})`,
        why: "the machine is as it shall be, but a node that stays cordoned takes no pods",
        remedy: `see that \`kubectl get node ${node}\` answers, then run again`,
      },
    ]);
  }
}
