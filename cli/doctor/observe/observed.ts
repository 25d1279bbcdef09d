import type * as k8s from "@kubernetes/client-node";
import { describeTaint } from "../../../components/recipe/machine/taints";
import type {
  ObservedContainer,
  ObservedDaemonSet,
  ObservedDeployment,
  ObservedEvent,
  ObservedJob,
  ObservedNamespace,
  ObservedNode,
  ObservedPod,
  ObservedRelease,
  ObservedRuntimeClass,
} from "../../../components/diagnosis";
import { UNTESTED } from "../../../components/machine/program/task";
import type { Heard } from "./last-words";

/** Kubernetes objects as a diagnosis sees them. */
export const named = (metadata: k8s.V1ObjectMeta | undefined): { namespace: string; name: string } => ({
  namespace: metadata?.namespace ?? "",
  name: metadata?.name ?? "",
});

/** @param heard what the logs of its containers say. */
export function observedPod({ metadata, spec, status }: k8s.V1Pod, heard: Heard): ObservedPod {
  const { namespace, name } = named(metadata);
  const container = (one: k8s.V1ContainerStatus): ObservedContainer =>
    observedContainer(one, heard.get(`${namespace}/${name}/${one.name}`));
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
  const visible = spec?.containers
    ?.flatMap(({ env }) => env ?? [])
    .find((one) => one.name === "NVIDIA_VISIBLE_DEVICES");
  return {
    ...{ namespace, name },
    phase: status?.phase ?? "Unknown",
    labels: metadata?.labels ?? {},
    nodeSelector: spec?.nodeSelector ?? {},
    gpus: (spec?.containers ?? []).some(({ resources }) =>
      Object.keys(resources?.limits ?? {}).some((name) => name.startsWith("nvidia.com/")),
    ),
    initContainers: (status?.initContainerStatuses ?? []).map(container),
    containers: (status?.containerStatuses ?? []).map(container),
    images: (spec?.containers ?? []).flatMap(({ image }) => image ?? []),
    ...(owner === undefined ? {} : { owner: `${owner.kind}/${owner.name}` }),
    ...(spec?.runtimeClassName === undefined ? {} : { runtimeClass: spec.runtimeClassName }),
    ...(visible?.value === undefined ? {} : { visibleDevices: visible.value }),
    ...(spec?.nodeName === undefined ? {} : { node: spec.nodeName }),
    ...(status?.reason === undefined ? {} : { reason: status.reason }),
    ...(status?.message === undefined ? {} : { message: status.message }),
  };
}

function observedContainer(
  { name, state, ready, lastState }: k8s.V1ContainerStatus,
  log: string | undefined,
): ObservedContainer {
  const { waiting, running, terminated } = state ?? {};
  const lastWords = terminated?.message ?? (terminated && log);
  const why = waiting ?? (terminated && { ...terminated, ...(lastWords === undefined ? {} : { message: lastWords }) });
  const last = lastState?.terminated && (lastState.terminated.message ?? log);
  return {
    name,
    ready,
    state: running ? "running" : terminated ? "terminated" : "waiting",
    ...(why?.reason === undefined ? {} : { reason: why.reason }),
    ...(why?.message === undefined ? {} : { message: why.message }),
    // A container that runs well by now is not judged by how it once ended.
    ...(last === undefined || ready ? {} : { lastMessage: last }),
    ...(terminated === undefined ? {} : { exitCode: terminated.exitCode }),
    ...(log === undefined || !ready ? {} : { log }),
  };
}

/** What the doctor keeps of a DaemonSet. */
export function observedDaemonSet({ metadata, spec, status }: k8s.V1DaemonSet): ObservedDaemonSet {
  return {
    ...named(metadata),
    labels: metadata?.labels ?? {},
    nodeSelector: spec?.template.spec?.nodeSelector ?? {},
    desired: status?.desiredNumberScheduled ?? 0,
    ready: status?.numberReady ?? 0,
    outdated: status?.observedGeneration !== metadata?.generation,
  };
}

/** What the doctor keeps of a Deployment. */
export function observedDeployment({ metadata, spec, status }: k8s.V1Deployment): ObservedDeployment {
  return {
    ...named(metadata),
    labels: metadata?.labels ?? {},
    desired: spec?.replicas ?? 1,
    ready: status?.readyReplicas ?? 0,
    outdated: status?.observedGeneration !== metadata?.generation,
  };
}

/** What the doctor keeps of a Job. */
export const observedJob = ({ metadata, spec, status }: k8s.V1Job): ObservedJob => {
  const untested = spec?.suspend === true ? metadata?.annotations?.[UNTESTED] : undefined;
  const made = metadata?.creationTimestamp; // of a Job as it was listed, text
  const created = made === undefined ? undefined : new Date(made).toISOString();
  return {
    ...named(metadata),
    ...(created === undefined ? {} : { created }),
    succeeded: status?.succeeded ?? 0,
    ...(untested === undefined ? {} : { untested }),
  };
};

/** What the doctor keeps of a namespace. */
export const observedNamespace = ({ metadata }: k8s.V1Namespace): ObservedNamespace => ({
  name: metadata?.name ?? "",
  labels: metadata?.labels ?? {},
});

/** What the doctor keeps of a RuntimeClass. */
export const observedRuntimeClass = ({ metadata, handler }: k8s.V1RuntimeClass): ObservedRuntimeClass => ({
  name: metadata?.name ?? "",
  handler,
});

/** Releases by the labels of their Secrets, one per revision; the newest revision of each (helm, pkg/storage/driver). */
export function observedReleases(secrets: readonly Pick<k8s.V1Secret, "metadata">[]): ObservedRelease[] {
  const newest = new Map<string, ObservedRelease>();
  for (const { metadata } of secrets) {
    const { name, status, version } = metadata?.labels ?? {};
    if (name === undefined || status === undefined) continue;
    const release = { namespace: metadata?.namespace ?? "", name, status, revision: Number(version) };
    const key = `${release.namespace}/${name}`;
    if ((newest.get(key)?.revision ?? -1) < release.revision) newest.set(key, release);
  }
  return [...newest.values()];
}

/** What the doctor keeps of a node. */
export function observedNode({ metadata, spec, status }: k8s.V1Node): ObservedNode {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const handlers = (status?.runtimeHandlers ?? []).flatMap(({ name }) => name ?? []).filter((name) => name !== "");
  return {
    name: metadata?.name ?? "",
    labels: metadata?.labels ?? {},
    allocatable: status?.allocatable ?? {},
    ready: ready?.status === "True",
    unschedulable: spec?.unschedulable ?? false,
    ...(ready === undefined || ready.status === "True" ? {} : { notReady: `${ready.reason}: ${ready.message}` }),
    ...(handlers.length === 0 ? {} : { runtimeHandlers: handlers }),
    taints: (spec?.taints ?? []).map(({ key, value, effect }) =>
      describeTaint({ key, effect, ...(value === undefined ? {} : { value }) }),
    ),
    ...(status?.nodeInfo?.osImage === undefined ? {} : { osImage: status.nodeInfo.osImage }),
  };
}

/** What the doctor keeps of an event. */
export function observedEvent({ involvedObject, reason, message }: k8s.CoreV1Event): ObservedEvent {
  return {
    object: `${involvedObject.kind}/${involvedObject.name}`,
    message: message ?? "",
    ...(involvedObject.namespace === undefined ? {} : { namespace: involvedObject.namespace }),
    ...(reason === undefined ? {} : { reason }),
  };
}
