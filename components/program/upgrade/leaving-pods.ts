import type { PodState } from "../cluster/cluster";

/** What goes with an evicted pod, in addition to its processes; nothing for one that its controller makes again elsewhere. */
export function costOf(pod: PodState): string[] {
  const name = `${pod.namespace}/${pod.name}`;
  return [
    ...(pod.controller === undefined
      ? [`pod ${name} has no controller, so nothing recreates it after the eviction`]
      : []),
    ...(pod.localStorage ? [`pod ${name} loses what it keeps in an emptyDir`] : []),
    ...(pod.gpus > 0
      ? [
          `pod ${name} holds ${pod.gpus === 1 ? "a GPU" : `${pod.gpus} GPUs`}: its computation is interrupted`,
        ]
      : []),
  ];
}

/**
 * Why a pod is still there, and who decides.
 *
 * @param refused the API's words, where it refused the eviction.
 */
export function holding(
  pod: PodState,
  refused: string | undefined,
): { reason: string; decides: string } {
  if (refused !== undefined)
    return { reason: refused, decides: whoDecides(pod.namespace, refused) };
  if (pod.finalizers.length > 0) {
    return {
      reason: `it is being deleted, and waits for ${pod.finalizers.join(", ")}`,
      decides: `the one who put the finalizer there decides: look at \`kubectl -n ${pod.namespace} get pod ${pod.name} -o yaml\``,
    };
  }
  const grace = pod.grace === undefined ? "" : `, and may take ${pod.grace} s`;
  return {
    reason: `it is still terminating${grace}`,
    decides: `the pod's owner decides how long it takes: raise timeouts.drain above its grace period, or end it`,
  };
}

/** Of a pod that was not told to go at all: Kubernetes did not answer when it was its turn. */
export const unanswered = (last: string): { reason: string; decides: string } => ({
  reason: `the update could not ask for its eviction (last: ${last})`,
  decides: "check that the Kubernetes API answers",
});

/** Who decides on a refusal, by the API's words (kubernetes v1.36 pkg/registry/core/pod/storage/eviction.go, and the admission plugin NamespaceLifecycle). */
function whoDecides(namespace: string, refused: string): string {
  if (/more than one PodDisruptionBudget/.test(refused))
    return `the owner of the disruption budgets in the namespace ${namespace} decides: Kubernetes evicts no pod that several disruption budgets select; its owner must change them until only one selects it (\`kubectl -n ${namespace} get pdb\`)`;
  if (/namespace \S+ is being terminated/.test(refused))
    return `the one who deletes the namespace ${namespace} decides: its pods go with it; \`kubectl get namespace ${namespace} -o yaml\` says what it waits for`;
  const budget = /disruption budget (\S+)/.exec(refused)?.[1];
  return budget === undefined
    ? `the owner of the namespace ${namespace} decides`
    : `the owner of the disruption budget ${namespace}/${budget} decides: the owner must add replicas on other nodes, or relax the budget`;
}
