import type * as k8s from "@kubernetes/client-node";

/** A container that ended badly without a termination message, and so what it said is in its log alone. */
export interface Silent {
  namespace: string;
  pod: string;
  container: string;
  /** Whether it has been started again since: then its last words are in the log of the run before. */
  restarted: boolean;
}

/** Logs that are read at most: where more pods fail, they fail for the same reason. */
const MOST = 20;

/** Lines of a log that are read, as many as the kubelet takes for a termination message. */
const LINES = 80;

/**
 * Containers whose log must be asked. Charts seldom set `terminationMessagePolicy: FallbackToLogsOnError`, so that a pod's
 * status says no more than an exit code.
 */
export function silentContainers(pods: readonly k8s.V1Pod[]): Silent[] {
  const found = pods.flatMap(({ metadata, status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
      .filter(endedBadly)
      .map(({ name, state }) => ({
        namespace: metadata?.namespace ?? "",
        pod: metadata?.name ?? "",
        container: name,
        restarted: state?.running !== undefined,
      })),
  );
  return found.slice(0, MOST);
}

function endedBadly({ ready, state, lastState }: k8s.V1ContainerStatus): boolean {
  if (ready) return false;
  const end = state?.terminated ?? lastState?.terminated;
  return end !== undefined && end.exitCode !== 0 && !end.message;
}

/** Reads the last words of such containers into their pods' statuses. A log that cannot be read leaves its pod as it is. */
export async function hearLastWords(pods: readonly k8s.V1Pod[], core: k8s.CoreV1Api): Promise<void> {
  const words = silentContainers(pods).map(async ({ namespace, pod, container, restarted }) => {
    const log = await core
      .readNamespacedPodLog({ name: pod, namespace, container, previous: restarted, tailLines: LINES })
      .catch(() => "");
    const { status } = pods.find(({ metadata }) => metadata?.namespace === namespace && metadata.name === pod)!;
    const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
    const { state, lastState } = all.find(({ name }) => name === container)!;
    const end = state?.terminated ?? lastState?.terminated;
    if (end !== undefined && log !== "") end.message = log.trim();
  });
  await Promise.all(words);
}
