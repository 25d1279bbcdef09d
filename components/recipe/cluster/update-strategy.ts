import type { ClusterSpec } from "../spec/index";
import type { UpdateStrategy } from "../types";

// A pod on a node that is off counts as unavailable (kubernetes v1.36.3, pkg/controller/daemon/update.go, rollingUpdate).
// It stays so, because no kubelet ends it. A rollout that allows no more unavailable pods stops on all other nodes. The
// update then fails at its limit (seen in the lab `away`). A percentage does not help: Kubernetes takes it of the nodes
// that are up (updatedDesiredNodeCounts).

const strategy = (maxUnavailable: number | string): UpdateStrategy => ({
  type: "RollingUpdate",
  rollingUpdate: { maxUnavailable },
});

/** Number of machines that may be off during an update. */
export const awayAtMost = ({ machines }: Pick<ClusterSpec, "machines">): number =>
  Object.values(machines).filter((machine) => machine.mayBeAway).length;

/**
 * Update strategy of a chart's DaemonSets, which by default replace one pod after another. It allows one more
 * unavailable pod for each machine that may be away.
 *
 * @returns undefined if no machine may be away; the chart then keeps its own strategy.
 */
export function chartUpdateStrategy(
  spec: Pick<ClusterSpec, "machines">,
): UpdateStrategy | undefined {
  const awayCount = awayAtMost(spec);
  return awayCount === 0 ? undefined : strategy(awayCount + 1);
}

/**
 * More than the machines of any stack. It is the same for all stacks, so that a further machine changes no DaemonSet.
 * Kubernetes allocates a list of this length.
 */
const everyPod = 5_000;

/**
 * Update strategy that replaces all pods of a DaemonSet at once. Pulumi waits ten minutes for a DaemonSet. If the pods
 * were replaced one after another, this would suffice only for about sixty pods. Nothing is lost: a power limit and the
 * marker files outlast a restart of the pod that sets them.
 */
export const allAtOnce = (spec: Pick<ClusterSpec, "machines">): UpdateStrategy =>
  strategy(awayAtMost(spec) === 0 ? "100%" : everyPod);
