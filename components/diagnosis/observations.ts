import type * as k8s from "@kubernetes/client-node";
import { offeredBy } from "../clients/kubernetes/devices";
import { managingToolOf } from "../clients/kubernetes/managing-tool";
import { reportedCards } from "../clients/kubernetes/reported-cards";
import { CORDONED_BY } from "../program/cluster/cordon-mark";
import { UNTESTED } from "../program/task";
import { describeTaint, tolerates } from "../recipe/machine/taints";
import { defined } from "../recipe/mapping";
import type { PodToleration } from "../recipe/types";

/**
 * Observations of a system, on which a diagnosis is based. They are plain data, without the fields that could not be
 * observed.
 */
export interface Observations {
  pods?: ObservedPod[];
  daemonSets?: ObservedDaemonSet[];
  deployments?: ObservedDeployment[];
  jobs?: ObservedJob[];
  nodes?: ObservedNode[];
  /** The cluster's RuntimeClasses; undefined if not observed. */
  runtimeClasses?: Observed<typeof observedRuntimeClass, "name">[];
  namespaces?: ReturnType<typeof observedNamespace>[];
  /** Helm releases, each in its newest revision. */
  releases?: ObservedRelease[];
  machines?: ObservedMachine[];
  /** Kubernetes events of any object. */
  events?: ObservedEvent[];
}

/**
 * Type of an observed object: the fields that the function `Make` returns. Only the fields in `Required` are required.
 */
type Observed<
  Make extends (...given: any[]) => object,
  Required extends keyof ReturnType<Make>,
> = Pick<ReturnType<Make>, Required> & {
  [Key in Exclude<keyof ReturnType<Make>, Required>]?: Exclude<ReturnType<Make>[Key], undefined>;
};

const named = ({ namespace = "", name = "" }: k8s.V1ObjectMeta = {}) => ({ namespace, name });

/** Logs of containers, by `namespace/pod/container`. */
export type ContainerLogs = ReadonlyMap<string, string>;

/** A pod with its containers. */
export type ObservedPod = Observed<typeof observedPod, "namespace" | "name" | "phase">;

/** @param logs logs of the pod's containers. */
export function observedPod({ metadata, spec, status }: k8s.V1Pod, logs: ContainerLogs) {
  const { namespace, name } = named(metadata);
  const container = (containerStatus: k8s.V1ContainerStatus): ObservedContainer =>
    observedContainer(containerStatus, logs.get(`${namespace}/${name}/${containerStatus.name}`));
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
  const containers = spec?.containers ?? [];
  const env = containers.flatMap((candidate) => candidate.env ?? []);
  return {
    namespace,
    name,
    labels: metadata?.labels ?? {},
    nodeSelector: spec?.nodeSelector ?? {},
    /** `Pending`, `Running`, `Succeeded`, `Failed`. */
    phase: status?.phase ?? "Unknown",
    /** Whether the pod requests a resource `nvidia.com/…`, or claims devices. */
    gpus: containers.some(
      ({ resources: { claims = [], limits = {} } = {} }) =>
        claims.length > 0 || Object.keys(limits).some((limit) => limit.startsWith("nvidia.com/")),
    ),
    /** Amount of each resource `nvidia.com/…` that the pod's containers request together. */
    requests: requestsOf(containers),
    initContainers: (status?.initContainerStatuses ?? []).map(container),
    containers: (status?.containerStatuses ?? []).map(container),
    images: containers.flatMap(({ image }) => image ?? []),
    ...defined({
      /** Reason of the pod's own status, e.g. `UnexpectedAdmissionError`. */
      reason: status?.reason,
      message: status?.message,
      node: spec?.nodeName,
      /** Controller that owns the pod, as `DaemonSet/name`; absent for a bare pod. */
      owner: owner && `${owner.kind}/${owner.name}`,
      /** Name of the pod's RuntimeClass. */
      runtimeClass: spec?.runtimeClassName,
      /** Value of `NVIDIA_VISIBLE_DEVICES` in the environment of a container, if the pod's spec sets this variable. */
      visibleDevices: env.find((variable) => variable.name === "NVIDIA_VISIBLE_DEVICES")?.value,
    }),
  };
}

function requestsOf(containers: readonly k8s.V1Container[]): Record<string, number> {
  const requests: Record<string, number> = {};
  for (const [resource, count] of containers.flatMap(({ resources }) =>
    Object.entries(resources?.limits ?? {}),
  ))
    if (resource.startsWith("nvidia.com/"))
      requests[resource] = (requests[resource] ?? 0) + Number(count);
  return requests;
}

/** A container's state. */
export type ObservedContainer = Observed<typeof observedContainer, "name" | "state">;

function observedContainer(
  { name, state, ready, lastState }: k8s.V1ContainerStatus,
  log: string | undefined,
) {
  const { waiting, running, terminated } = state ?? {};
  const stateDetails =
    waiting ?? (terminated && { ...terminated, message: terminated.message ?? log });
  const lastTermination = lastState?.terminated;
  return {
    name,
    ready,
    state: running ? "running" : terminated ? "terminated" : "waiting",
    ...defined({
      /** Reason of a waiting or terminated container, e.g. `CreateContainerError`. */
      reason: stateDetails?.reason,
      message: stateDetails?.message,
      /** Message of the container's last exit; absent if the container is ready now. */
      lastMessage: ready ? undefined : lastTermination && (lastTermination.message ?? log),
      exitCode: terminated?.exitCode,
      /** End of the log of a running container, because a container may run and still not do its work. */
      log: ready || (running && !lastTermination) ? log : undefined,
    }),
  };
}

/** What the diagnosis reads of a DaemonSet. */
export type ObservedDaemonSet = Observed<
  typeof observedDaemonSet,
  "namespace" | "name" | "desired" | "ready"
>;

/**
 * Taint of a node that is off. The pods of DaemonSets get no toleration of it (kubernetes v1.36.3,
 * pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations).
 */
const unreachableTaint = { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" };

/** Recorded fields of a DaemonSet. */
export const observedDaemonSet = ({ metadata, spec, status }: k8s.V1DaemonSet) => ({
  ...named(metadata),
  labels: metadata?.labels ?? {},
  ...defined({ managedBy: managingToolOf(metadata) }),
  nodeSelector: spec?.template.spec?.nodeSelector ?? {},
  /** Whether Kubernetes also wants a pod on a node that is off. */
  wantsUnreachableNodes: (spec?.template.spec?.tolerations ?? []).some((toleration) =>
    tolerates(toleration as Partial<PodToleration>, unreachableTaint),
  ),
  /** Number of pods that the DaemonSet should have; `ready` is the number of ready pods. */
  desired: status?.desiredNumberScheduled ?? 0,
  ready: status?.numberReady ?? 0,
  /** Whether the DaemonSet's controller has not yet processed the last change. */
  outdated: status?.observedGeneration !== metadata?.generation,
});

/** What the diagnosis reads of a Deployment. */
export type ObservedDeployment = Observed<typeof observedDeployment, "namespace" | "name">;

/** Recorded fields of a Deployment, like those of a DaemonSet. */
export const observedDeployment = ({ metadata, spec, status }: k8s.V1Deployment) => ({
  ...named(metadata),
  labels: metadata?.labels ?? {},
  ...defined({ managedBy: managingToolOf(metadata) }),
  desired: spec?.replicas ?? 1,
  ready: status?.readyReplicas ?? 0,
  outdated: status?.observedGeneration !== metadata?.generation,
});

/** Recorded fields of a RuntimeClass. */
export const observedRuntimeClass = ({ metadata, handler }: k8s.V1RuntimeClass) => ({
  ...nameOf(metadata),
  handler,
});

const nameOf = ({ name = "" }: k8s.V1ObjectMeta = {}) => ({ name });

/** Recorded fields of a namespace. */
export const observedNamespace = ({ metadata }: k8s.V1Namespace) => ({
  ...nameOf(metadata),
  labels: metadata?.labels ?? {},
});

/** A Helm release, read from the labels of the Secret of its newest revision. */
export interface ObservedRelease {
  namespace: string;
  name: string;
  /** `deployed`, `failed`, `pending-upgrade`, … */
  status: string;
  revision: number;
}

/**
 * Helm releases, each in its newest revision. Helm keeps a Secret with labels for each revision (helm,
 * pkg/storage/driver). The doctor reads labels alone, since the texts hold the user's values. After an interrupted
 * upgrade a label may say `failed` where the text says `pending-upgrade` (guard/cluster-objects.ts).
 */
export function observedReleases(
  secrets: readonly Pick<k8s.V1Secret, "metadata">[],
): ObservedRelease[] {
  const newest = new Map<string, ObservedRelease>();
  for (const { metadata } of secrets) {
    const { name, status, version } = metadata?.labels ?? {};
    if (name === undefined || status === undefined) continue;
    const release = {
      namespace: metadata?.namespace ?? "",
      name,
      status,
      revision: Number(version),
    };
    const key = `${release.namespace}/${name}`;
    if ((newest.get(key)?.revision ?? -1) < release.revision) newest.set(key, release);
  }
  return [...newest.values()];
}

/** What the diagnosis reads of a Job. */
export type ObservedJob = Observed<typeof observedJob, "namespace" | "name">;

/** Recorded fields of a Job. */
export function observedJob({ metadata, spec, status }: k8s.V1Job) {
  const creationTime = metadata?.creationTimestamp; // a text in a listed Job
  return {
    ...named(metadata),
    succeeded: status?.succeeded ?? 0,
    ...defined({
      /** Creation time, RFC 3339. */
      created: creationTime && new Date(creationTime).toISOString(),
      /** Why the update gave up this smoke test: the pods that use all GPU resource units of the machine. */
      untested: spec?.suspend === true ? metadata?.annotations?.[UNTESTED] : undefined,
    }),
  };
}

/** A node in Kubernetes. */
export type ObservedNode = Observed<typeof observedNode, "name" | "labels">;

/**
 * @param published ResourceSlices of all nodes, in which DRA drivers list their devices; undefined if they could not be
 *   observed.
 */
export function observedNode(
  node: k8s.V1Node,
  published: readonly k8s.V1ResourceSlice[] | undefined,
) {
  const slices = published ?? [];
  const { metadata, spec, status } = node;
  const condition = status?.conditions?.find(({ type }) => type === "Ready");
  const ready = condition?.status === "True";
  const handlers = (status?.runtimeHandlers ?? []).flatMap(({ name }) => name || []);
  return {
    ...nameOf(metadata),
    labels: metadata?.labels ?? {},
    ready,
    /** Allocatable resources, e.g. `{"nvidia.com/gpu": "1"}`, and the number of devices for claims, by DeviceClass. */
    allocatable: offeredBy(node, slices),
    /** The node's cards with their memory, as NVIDIA's programs report them; empty if they report none. */
    cards: reportedCards(node, slices),
    /** Whether the node is cordoned. */
    unschedulable: spec?.unschedulable ?? false,
    /** Whether the stack's update has cordoned the node. */
    cordonedByUpdate:
      spec?.unschedulable === true && metadata?.annotations?.[CORDONED_BY] !== undefined,
    /** Taints as `key=value:Effect`, or `key:Effect` without a value. */
    taints: (spec?.taints ?? []).map(({ key, value, effect }) =>
      describeTaint({ key, effect, ...defined({ value }) }),
    ),
    ...defined({
      /** Set if the ResourceSlices could not be read, so that `allocatable` lacks devices for claims. */
      devicesUnseen: published === undefined ? true : undefined,
      /** Reason and message of the condition `Ready`, if the node is not ready. */
      notReady: condition && !ready ? wordsOf(condition) : undefined,
      /**
       * Handlers of the node's container runtime; absent if the kubelet does not report them (Kubernetes ≤ 1.30,
       * containerd < 2).
       */
      runtimeHandlers: handlers.length > 0 ? handlers : undefined,
      /** Operating system that the node reports, e.g. `Talos (v1.12.6)`. */
      osImage: status?.nodeInfo?.osImage,
    }),
  };
}

const wordsOf = ({ reason, message }: k8s.V1NodeCondition): string =>
  [reason, message].filter(Boolean).join(": ") || "the condition gives no reason";

/** A machine, as its Talos API describes it. */
export interface ObservedMachine {
  name: string;
  /** Talos release that the machine runs, e.g. `v1.12.6`. */
  talosVersion?: string;
  /** ID of the schematic of the image that the machine runs. */
  schematicId?: string;
  /**
   * ID of the same schematic with sorted extensions. The plan's `schematicId` also belongs to sorted extensions, so
   * these two IDs can be compared. Absent if `schematicId` is absent.
   */
  imageId?: string;
  installImage?: string;
  /** Loaded kernel modules; undefined if not observed. */
  modules?: string[];
  /** Version of the loaded driver; null or undefined if none is loaded. */
  driverVersion?: string | null;
  /** Number of NVIDIA's cards on the machine's PCI bus; undefined if not observed. */
  cards?: number;
  /** PCI IDs of these cards, e.g. `10de:2204`; undefined if not observed. */
  cardIds?: string[];
  /** Command line of the running kernel; undefined if not observed. */
  commandLine?: string;
  /**
   * Names of the extensions in the running image, e.g. `nvidia-container-toolkit-production`; undefined if not
   * observed.
   */
  extensions?: string[];
  /** Stage that Talos reports for the machine, e.g. `running`, `booting`. */
  stage?: string;
  /** Lines of the kernel log about a boot that Talos has paused. */
  bootErrors?: string[];
  /** Paths that the active configuration has more than once under machine.files. */
  repeatedFiles?: string[];
  /** Whether the next boot uses another configuration than the active one; undefined if not observed. */
  staged?: boolean;
  /**
   * Content (TOML) of the file `20-customization.part` in the active configuration; empty if the configuration does not
   * write this file, undefined if not observed.
   */
  containerdPart?: string;
  /** containerd's whole configuration, merged by Talos (TOML); undefined if not observed. */
  mergedContainerd?: string;
  /** States of services, including those of extensions, e.g. `{"ext-nvidia-persistenced": "Waiting"}`. */
  services?: Record<string, string>;
  /**
   * Error lines about the machine: from the kernel log, from the logs of NVIDIA's services that do not run, or from a
   * call to its Talos API.
   */
  errors?: string[];
}

/** An event of Kubernetes. */
export type ObservedEvent = Observed<typeof observedEvent, "object" | "message">;

/** Recorded fields of an event. */
export const observedEvent = ({
  involvedObject: { kind = "", name = "", namespace },
  reason,
  message,
}: k8s.CoreV1Event) => ({
  /** Object that the event is about, e.g. `DaemonSet/nvidia-device-plugin`. */
  object: `${kind}/${name}`,
  message: message ?? "",
  ...defined({ namespace, reason }),
});

/** A message, and the object that it is about. */
export interface Message {
  about: string;
  namespace?: string;
  /** Node of the object in `about`; undefined if the message does not concern a single node. */
  node?: string;
  text: string;
}

/** Every message of the observations, from every source. */
export function messagesOf(observations: Observations): Message[] {
  const messagesOfPod = (pod: ObservedPod): Message[] =>
    [
      pod.message,
      ...[...(pod.initContainers ?? []), ...(pod.containers ?? [])].flatMap((candidate) => [
        candidate.message,
        candidate.lastMessage,
        candidate.log,
      ]),
    ]
      .filter((text) => text !== undefined)
      .map((text) => ({
        about: `Pod/${pod.name}`,
        namespace: pod.namespace,
        ...defined({ node: pod.node }),
        text,
      }));
  const nodeOf = ({ object, namespace }: ObservedEvent): string | undefined =>
    observations.pods?.find((pod) => object === `Pod/${pod.name}` && pod.namespace === namespace)
      ?.node;
  return [
    ...(observations.pods ?? []).flatMap(messagesOfPod),
    ...(observations.events ?? []).map((event) => ({
      about: event.object,
      ...defined({ namespace: event.namespace, node: nodeOf(event) }),
      text: event.message,
    })),
    ...(observations.machines ?? []).flatMap((machine) =>
      (machine.errors ?? []).map((text) => ({
        about: `machine ${machine.name}`,
        node: machine.name,
        text,
      })),
    ),
  ];
}
