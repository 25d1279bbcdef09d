import type * as k8s from "@kubernetes/client-node";
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
import { describeTaint } from "../../../components/recipe/machine/taints";
import { defined } from "../../../components/recipe/mapping";
import type { Heard } from "./last-words";

// Kubernetes objects as a diagnosis sees them.

const named = ({ namespace = "", name = "" }: k8s.V1ObjectMeta = {}) => ({ namespace, name });

/** @param heard what the logs of its containers say. */
export function observedPod({ metadata, spec, status }: k8s.V1Pod, heard: Heard): ObservedPod {
  const { namespace, name } = named(metadata);
  const container = (one: k8s.V1ContainerStatus): ObservedContainer =>
    observedContainer(one, heard.get(`${namespace}/${name}/${one.name}`));
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
  const { containers = [], nodeSelector = {}, runtimeClassName: runtimeClass, nodeName: node } = spec ?? {};
  const { phase = "Unknown", reason, message } = status ?? {};
  return {
    ...{ namespace, name, phase, nodeSelector, labels: metadata?.labels ?? {} },
    gpus: containers.some(({ resources }) =>
      Object.keys(resources?.limits ?? {}).some((limit) => limit.startsWith("nvidia.com/")),
    ),
    initContainers: (status?.initContainerStatuses ?? []).map(container),
    containers: (status?.containerStatuses ?? []).map(container),
    images: containers.flatMap(({ image }) => image ?? []),
    ...defined({ runtimeClass, node, reason, message, owner: owner && `${owner.kind}/${owner.name}` }),
    ...defined({
      visibleDevices: containers.flatMap(({ env }) => env ?? []).find((one) => one.name === "NVIDIA_VISIBLE_DEVICES")
        ?.value,
    }),
  };
}

function observedContainer(
  { name, state, ready, lastState }: k8s.V1ContainerStatus,
  log: string | undefined,
): ObservedContainer {
  const { waiting, running, terminated } = state ?? {};
  const ended = terminated && { ...terminated, message: terminated.message ?? log };
  const last = lastState?.terminated;
  return {
    ...{ name, ready, state: running ? "running" : terminated ? "terminated" : "waiting" },
    ...defined({ reason: (waiting ?? ended)?.reason, message: (waiting ?? ended)?.message }),
    // A container that runs well by now is not judged by how it once ended.
    ...defined(ready ? { log } : { lastMessage: last && (last.message ?? log) }),
    ...defined({ exitCode: terminated?.exitCode }),
  };
}

/** What the doctor keeps of a DaemonSet. */
export const observedDaemonSet = ({ metadata, spec, status }: k8s.V1DaemonSet): ObservedDaemonSet => ({
  ...named(metadata),
  labels: metadata?.labels ?? {},
  nodeSelector: spec?.template.spec?.nodeSelector ?? {},
  desired: status?.desiredNumberScheduled ?? 0,
  ready: status?.numberReady ?? 0,
  outdated: status?.observedGeneration !== metadata?.generation,
});

/** What the doctor keeps of a Deployment. */
export const observedDeployment = ({ metadata, spec, status }: k8s.V1Deployment): ObservedDeployment => ({
  ...named(metadata),
  labels: metadata?.labels ?? {},
  desired: spec?.replicas ?? 1,
  ready: status?.readyReplicas ?? 0,
  outdated: status?.observedGeneration !== metadata?.generation,
});

/** What the doctor keeps of a Job. */
export const observedJob = ({ metadata, spec, status }: k8s.V1Job): ObservedJob => {
  const made = metadata?.creationTimestamp; // of a Job as it was listed, text
  return {
    ...named(metadata),
    succeeded: status?.succeeded ?? 0,
    ...defined({
      created: made && new Date(made).toISOString(),
      untested: spec?.suspend === true ? metadata?.annotations?.[UNTESTED] : undefined,
    }),
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
  const condition = status?.conditions?.find(({ type }) => type === "Ready");
  const ready = condition?.status === "True";
  const handlers = (status?.runtimeHandlers ?? []).flatMap(({ name }) => name || []);
  return {
    ...{ name: metadata?.name ?? "", labels: metadata?.labels ?? {}, allocatable: status?.allocatable ?? {}, ready },
    unschedulable: spec?.unschedulable ?? false,
    taints: (spec?.taints ?? []).map(({ key, value, effect }) => describeTaint({ key, effect, ...defined({ value }) })),
    ...defined({
      notReady: condition && !ready ? `${condition.reason}: ${condition.message}` : undefined,
      runtimeHandlers: handlers.length > 0 ? handlers : undefined,
      osImage: status?.nodeInfo?.osImage,
    }),
  };
}

/** What the doctor keeps of an event. */
export const observedEvent = ({ involvedObject, reason, message }: k8s.CoreV1Event): ObservedEvent => ({
  object: `${involvedObject.kind}/${involvedObject.name}`,
  message: message ?? "",
  ...defined({ namespace: involvedObject.namespace, reason }),
});
