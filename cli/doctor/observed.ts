import type * as k8s from "@kubernetes/client-node";
import { describeTaint } from "../../components/recipe/machine/taints";
import type {
  ObservedContainer,
  ObservedDaemonSet,
  ObservedEvent,
  ObservedNode,
  ObservedPod,
} from "../../components/diagnosis/observations";

/** Kubernetes objects as a diagnosis sees them. */
export const named = (metadata: k8s.V1ObjectMeta | undefined): { namespace: string; name: string } => ({
  namespace: metadata?.namespace ?? "",
  name: metadata?.name ?? "",
});

export function observedPod({ metadata, spec, status }: k8s.V1Pod): ObservedPod {
  return {
    ...named(metadata),
    phase: status?.phase ?? "Unknown",
    labels: metadata?.labels ?? {},
    nodeSelector: spec?.nodeSelector ?? {},
    gpus: (spec?.containers ?? []).some(({ resources }) =>
      Object.keys(resources?.limits ?? {}).some((name) => name.startsWith("nvidia.com/")),
    ),
    initContainers: (status?.initContainerStatuses ?? []).map(observedContainer),
    containers: (status?.containerStatuses ?? []).map(observedContainer),
    ...(spec?.nodeName === undefined ? {} : { node: spec.nodeName }),
    ...(status?.reason === undefined ? {} : { reason: status.reason }),
    ...(status?.message === undefined ? {} : { message: status.message }),
  };
}

function observedContainer({ name, state, ready, lastState }: k8s.V1ContainerStatus): ObservedContainer {
  const { waiting, running, terminated } = state ?? {};
  const why = waiting ?? terminated;
  const last = lastState?.terminated?.message;
  return {
    name,
    ready,
    state: running ? "running" : terminated ? "terminated" : "waiting",
    ...(why?.reason === undefined ? {} : { reason: why.reason }),
    ...(why?.message === undefined ? {} : { message: why.message }),
    // A container that runs well by now is not judged by how it once ended.
    ...(last === undefined || ready ? {} : { lastMessage: last }),
    ...(terminated === undefined ? {} : { exitCode: terminated.exitCode }),
  };
}

export function observedDaemonSet({ metadata, spec, status }: k8s.V1DaemonSet): ObservedDaemonSet {
  return {
    ...named(metadata),
    labels: metadata?.labels ?? {},
    nodeSelector: spec?.template.spec?.nodeSelector ?? {},
    desired: status?.desiredNumberScheduled ?? 0,
    ready: status?.numberReady ?? 0,
  };
}

export function observedNode({ metadata, spec, status }: k8s.V1Node): ObservedNode {
  return {
    name: metadata?.name ?? "",
    labels: metadata?.labels ?? {},
    allocatable: status?.allocatable ?? {},
    ready: status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
    taints: (spec?.taints ?? []).map(({ key, value, effect }) =>
      describeTaint({ key, effect, ...(value === undefined ? {} : { value }) }),
    ),
    ...(status?.nodeInfo?.osImage === undefined ? {} : { osImage: status.nodeInfo.osImage }),
  };
}

export function observedEvent({ involvedObject, reason, message }: k8s.CoreV1Event): ObservedEvent {
  return {
    object: `${involvedObject.kind}/${involvedObject.name}`,
    message: message ?? "",
    ...(involvedObject.namespace === undefined ? {} : { namespace: involvedObject.namespace }),
    ...(reason === undefined ? {} : { reason }),
  };
}
