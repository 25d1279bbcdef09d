import type * as k8s from "@kubernetes/client-node";

/**
 * What of a cluster's record still counts. Kubernetes keeps events for an hour and failed pods for longer, so that much of
 * what can be read is of a failure that is over.
 */

/** Milliseconds for which the events of an object count that is no longer there. */
const GONE = 15 * 60_000;

/** Pods, but for failed ones of a Job that has succeeded since. */
export function livingPods(pods: k8s.V1Pod[], jobs: k8s.V1Job[]): k8s.V1Pod[] {
  const succeeded = new Set(
    jobs.filter(({ status }) => (status?.succeeded ?? 0) > 0).map(({ metadata }) => metadata?.uid),
  );
  return pods.filter(
    ({ metadata, status }) =>
      status?.phase !== "Failed" || !(metadata?.ownerReferences ?? []).some(({ uid }) => succeeded.has(uid)),
  );
}

/** Events, but for those of objects that are well by now, and of objects that went long ago. */
export function livingEvents(
  events: k8s.CoreV1Event[],
  objects: {
    pods?: k8s.V1Pod[] | undefined;
    daemonSets?: k8s.V1DaemonSet[] | undefined;
    jobs?: k8s.V1Job[] | undefined;
  },
  now: Date,
): k8s.CoreV1Event[] {
  const wellByUid = new Map<string, boolean>();
  for (const pod of objects.pods ?? []) wellByUid.set(pod.metadata?.uid ?? "", isWellPod(pod));
  for (const set of objects.daemonSets ?? []) wellByUid.set(set.metadata?.uid ?? "", isWellDaemonSet(set));
  for (const job of objects.jobs ?? []) wellByUid.set(job.metadata?.uid ?? "", (job.status?.succeeded ?? 0) > 0);
  return events.filter((event) => {
    const well = wellByUid.get(event.involvedObject.uid ?? "");
    if (well !== undefined) return !well;
    const at = event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? event.metadata.creationTimestamp;
    return at === undefined || now.getTime() - new Date(at).getTime() < GONE;
  });
}

function isWellPod({ status }: k8s.V1Pod): boolean {
  if (status?.phase === "Succeeded") return true;
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

function isWellDaemonSet({ status }: k8s.V1DaemonSet): boolean {
  const desired = status?.desiredNumberScheduled ?? 0;
  return desired > 0 && status?.numberReady === desired;
}
