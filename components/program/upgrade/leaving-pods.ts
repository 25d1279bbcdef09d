import type { PodState } from "../cluster/cluster";

/**
 * What the eviction of a pod loses, one text each; empty if a controller recreates the pod and the pod loses no data.
 */
export function costOf(pod: PodState): string[] {
  const name = `${pod.namespace}/${pod.name}`;
  return [
    ...(pod.controller === undefined
      ? [`pod ${name} has no controller, so nothing recreates it after the eviction`]
      : []),
    ...(pod.localStorage ? [`pod ${name} loses the content of its emptyDir volumes`] : []),
    ...(pod.gpus > 0
      ? [
          `pod ${name} holds ${pod.gpus === 1 ? "a GPU" : `${pod.gpus} GPUs`}: its computation is interrupted`,
        ]
      : []),
  ];
}

/**
 * Why a pod still runs, and who can change that.
 *
 * @param refused Kubernetes' message, if it refused the eviction; else undefined.
 */
export function holding(
  pod: PodState,
  refused: string | undefined,
): { reason: string; decides: string } {
  if (refused !== undefined)
    return { reason: refused, decides: whoDecides(pod.namespace, refused) };
  if (pod.finalizers.length > 0) {
    return {
      reason: `it is being deleted, but still has the finalizer ${pod.finalizers.join(", ")}`,
      decides: `the controller that set the finalizer must remove it: look at \`kubectl -n ${pod.namespace} get pod ${pod.name} -o yaml\``,
    };
  }
  const grace = pod.grace === undefined ? "" : `, and has a grace period of ${pod.grace} s`;
  return {
    reason: `it is still terminating${grace}`,
    decides: `raise timeouts.drain above the pod's grace period, or end the pod`,
  };
}

/** Why a pod still runs, if the program never requested its eviction because Kubernetes did not answer in time. */
export const unanswered = (last: string): { reason: string; decides: string } => ({
  reason: `the update could not request its eviction (last: ${last})`,
  decides: "check that the Kubernetes API answers",
});

/**
 * Who can make Kubernetes accept the eviction, by Kubernetes' message (kubernetes v1.36
 * pkg/registry/core/pod/storage/eviction.go, and the admission plugin NamespaceLifecycle).
 */
function whoDecides(namespace: string, refused: string): string {
  if (/more than one PodDisruptionBudget/.test(refused))
    return `several disruption budgets in the namespace ${namespace} select the pod, so Kubernetes never evicts it: their owner must change them so that only one selects the pod (\`kubectl -n ${namespace} get pdb\`)`;
  if (/namespace \S+ is being terminated/.test(refused))
    return `the namespace ${namespace} is being deleted with its pods: \`kubectl get namespace ${namespace} -o yaml\` shows what blocks that`;
  const budget = /disruption budget (\S+)/.exec(refused)?.[1];
  return budget === undefined
    ? `the owner of the namespace ${namespace} must allow the eviction`
    : `the owner of the disruption budget ${namespace}/${budget} must add replicas on other nodes, or relax the budget`;
}
