import type * as k8s from "@kubernetes/client-node";

/**
 * Selects the events and pods that show a present failure. Kubernetes keeps events for an hour and failed pods for
 * longer, so many of them show a failure that is over.
 */

/** Milliseconds for which an event counts if its object is in none of the lists of `Objects`. */
const RECENT = 15 * 60_000;

/** Pods, without the failed pods of a Job that has succeeded since. */
export function livingPods(pods: k8s.V1Pod[], jobs: k8s.V1Job[]): k8s.V1Pod[] {
  const succeeded = new Set(
    jobs.filter(({ status }) => (status?.succeeded ?? 0) > 0).map(({ metadata }) => metadata?.uid),
  );
  return pods.filter(
    ({ metadata, status }) =>
      status?.phase !== "Failed" ||
      !(metadata?.ownerReferences ?? []).some(({ uid }) => succeeded.has(uid)),
  );
}

/** Objects that events may be about. */
export interface Objects {
  pods?: k8s.V1Pod[] | undefined;
  deployments?: k8s.V1Deployment[] | undefined;
  daemonSets?: k8s.V1DaemonSet[] | undefined;
  jobs?: k8s.V1Job[] | undefined;
}

/**
 * Events, without those of objects that are well by now. Events of a deleted object count only if its owner exists and
 * is not well. The owner is found by name, because the names of pods and ReplicaSets begin with their owner's name. If
 * the owner has other pods, these show the present state, and events of its deleted pods do not count. Events of an
 * object in no list, such as a node, count for 15 minutes.
 */
export function livingEvents(
  events: k8s.CoreV1Event[],
  objects: Objects,
  now: Date,
): k8s.CoreV1Event[] {
  const { pods = [] } = objects;
  const makers = makersOf(objects);
  const isWellByUid = new Map<string, boolean>([
    ...pods.map((pod) => [pod.metadata?.uid ?? "", isWellPod(pod)] as const),
    ...makers.map(({ uid, well }) => [uid, well] as const),
  ]);
  return events.filter((event) => {
    const { kind = "", uid = "", namespace, name } = event.involvedObject;
    const maker = isWellByUid.has(uid)
      ? undefined
      : makers.find((candidate) => isMadeBy(candidate, namespace, name));
    const well = isWellByUid.get(uid) ?? maker?.well;
    if (
      maker &&
      kind === "Pod" &&
      pods.some(({ metadata }) => isMadeBy(maker, metadata?.namespace, metadata?.name))
    )
      return false;
    if (well !== undefined) return !well;
    if (isListed(kind, objects)) return false;
    const time =
      event.lastTimestamp ??
      event.eventTime ??
      event.firstTimestamp ??
      event.metadata.creationTimestamp;
    return time === undefined || now.getTime() - new Date(time).getTime() < RECENT;
  });
}

/**
 * Whether the doctor could read all lists for a kind. Together they contain every existing object of the kind, or its
 * owner.
 */
function isListed(kind: string, { pods, deployments, daemonSets, jobs }: Objects): boolean {
  const lists: Record<string, unknown[]> = {
    Pod: [pods, deployments, daemonSets, jobs],
    ReplicaSet: [deployments],
    Deployment: [deployments],
    DaemonSet: [daemonSets],
    Job: [jobs],
  };
  return lists[kind]?.every((list) => list !== undefined) ?? false;
}

type Maker = ReturnType<typeof makersOf>[number];

/**
 * Controllers that create pods. Longer names come first, since a name may be the beginning of a longer one. A DaemonSet
 * that wants no pods now is not the owner of any pod, so events of its earlier pods do not count.
 */
function makersOf({ deployments = [], daemonSets = [], jobs = [] }: Objects) {
  const maker = (
    { uid = "", namespace = "", name = "" }: k8s.V1ObjectMeta = {},
    well: boolean,
    none = false,
  ) => ({
    none,
    uid,
    namespace,
    name,
    well,
  });
  const makers = [
    ...deployments.map((object) => maker(object.metadata, isWellDeployment(object))),
    ...daemonSets.map((object) =>
      maker(object.metadata, isWellDaemonSet(object), object.status?.desiredNumberScheduled === 0),
    ),
    ...jobs.map(({ metadata, status }) => maker(metadata, (status?.succeeded ?? 0) > 0)),
  ];
  return makers.sort((a, b) => b.name.length - a.name.length);
}

/** Whether the name is that of the controller, or of an object that the controller created. */
const isMadeBy = (maker: Maker, namespace = "", name = ""): boolean =>
  namespace === maker.namespace &&
  (name === maker.name || (!maker.none && name.startsWith(`${maker.name}-`)));

function isWellPod({ status }: k8s.V1Pod): boolean {
  if (status?.phase === "Succeeded") return true;
  return (
    status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ??
    false
  );
}

function isWellDeployment({ metadata, spec, status }: k8s.V1Deployment): boolean {
  const desiredReplicas = spec?.replicas ?? 1;
  const counts = [status?.updatedReplicas, status?.readyReplicas];
  return (
    status?.observedGeneration === metadata?.generation &&
    counts.every((count) => (count ?? 0) >= desiredReplicas)
  );
}

function isWellDaemonSet({ status }: k8s.V1DaemonSet): boolean {
  const desired = status?.desiredNumberScheduled ?? 0;
  return desired > 0 && status?.numberReady === desired;
}
