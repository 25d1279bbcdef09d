import type * as k8s from "@kubernetes/client-node";
import { offeredBy } from "../clients/kubernetes/devices";
import { keeperOf } from "../clients/kubernetes/keeper";
import { reportedCards } from "../clients/kubernetes/reported-cards";
import { UNTESTED } from "../program/task";
import { describeTaint } from "../recipe/machine/taints";
import { defined } from "../recipe/mapping";

/**
 * Observations of a system, on which a diagnosis is based. They are plain data; parts that could not be observed are
 * left out.
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
  /** Helm's releases, each in its newest revision. */
  releases?: ObservedRelease[];
  machines?: ObservedMachine[];
  /** Kubernetes events of any object. */
  events?: ObservedEvent[];
}

/** An observed object. Only its known properties are required. */
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
    /** Whether it requests a resource of NVIDIA or claims devices. */
    gpus: containers.some(
      ({ resources: { claims = [], limits = {} } = {} }) =>
        claims.length > 0 || Object.keys(limits).some((limit) => limit.startsWith("nvidia.com/")),
    ),
    /** Units of NVIDIA's resources that its containers request, by resource. */
    requests: requestsOf(containers),
    initContainers: (status?.initContainerStatuses ?? []).map(container),
    containers: (status?.containerStatuses ?? []).map(container),
    images: containers.flatMap(({ image }) => image ?? []),
    ...defined({
      /** Reason of the pod's own status, e.g. `UnexpectedAdmissionError`. */
      reason: status?.reason,
      message: status?.message,
      node: spec?.nodeName,
      /** Controller that owns it, as `DaemonSet/name`; absent for a bare pod. */
      owner: owner && `${owner.kind}/${owner.name}`,
      /** Name of its RuntimeClass. */
      runtimeClass: spec?.runtimeClassName,
      /** `NVIDIA_VISIBLE_DEVICES` in a container's environment, if the pod sets it. */
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
      /** Message of its last exit; absent for a container that now runs well. */
      lastMessage: ready ? undefined : lastTermination && (lastTermination.message ?? log),
      exitCode: terminated?.exitCode,
      /** End of the log of a running container, in case the container runs but has no effect. */
      log: ready || (running && !lastTermination) ? log : undefined,
    }),
  };
}

/** A DaemonSet, with the reason if it creates no pods. */
export type ObservedDaemonSet = Observed<
  typeof observedDaemonSet,
  "namespace" | "name" | "desired" | "ready"
>;

/** Recorded fields of a DaemonSet. */
export const observedDaemonSet = ({ metadata, spec, status }: k8s.V1DaemonSet) => ({
  ...named(metadata),
  labels: metadata?.labels ?? {},
  ...defined({ keeper: keeperOf(metadata) }),
  nodeSelector: spec?.template.spec?.nodeSelector ?? {},
  /** Number of wanted pods and of ready pods. */
  desired: status?.desiredNumberScheduled ?? 0,
  ready: status?.numberReady ?? 0,
  /** Whether its controller has not yet processed its last change. */
  outdated: status?.observedGeneration !== metadata?.generation,
});

/** A Deployment, with the number of its ready pods. */
export type ObservedDeployment = Observed<typeof observedDeployment, "namespace" | "name">;

/** Recorded fields of a Deployment, like those of a DaemonSet. */
export const observedDeployment = ({ metadata, spec, status }: k8s.V1Deployment) => ({
  ...named(metadata),
  labels: metadata?.labels ?? {},
  ...defined({ keeper: keeperOf(metadata) }),
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

/** A Helm release, from the labels of its Secret. */
export interface ObservedRelease {
  namespace: string;
  name: string;
  /** `deployed`, `failed`, `pending-upgrade`, … */
  status: string;
  revision: number;
}

/**
 * Releases by the labels of their Secrets, one per revision; the newest revision of each (helm, pkg/storage/driver).
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

/** A Job, with its result. */
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
      /** Why the gate gave up a smoke test: the pods that use all units. */
      untested: spec?.suspend === true ? metadata?.annotations?.[UNTESTED] : undefined,
    }),
  };
}

/** A node in Kubernetes. */
export type ObservedNode = Observed<typeof observedNode, "name" | "labels">;

/** @param published devices that drivers publish for all nodes; undefined if they could not be observed. */
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
    /** Allocatable resources, e.g. `{"nvidia.com/gpu": "1"}`, and devices for claims, by device class. */
    allocatable: offeredBy(node, slices),
    /** Its cards with their memory, from NVIDIA's programs; empty if they report none. */
    cards: reportedCards(node, slices),
    /** Whether it is cordoned. */
    unschedulable: spec?.unschedulable ?? false,
    /** Taints as `key=value:Effect`, or `key:Effect` without a value. */
    taints: (spec?.taints ?? []).map(({ key, value, effect }) =>
      describeTaint({ key, effect, ...defined({ value }) }),
    ),
    ...defined({
      /** Set if its devices for claims could not be read, so that `allocatable` lacks them. */
      devicesUnseen: published === undefined ? true : undefined,
      /** Message of the kubelet or of the control plane why it is not ready. */
      notReady: condition && !ready ? wordsOf(condition) : undefined,
      /**
       * Handlers of its container runtime; absent if the kubelet does not report them (Kubernetes ≤ 1.30, containerd <
       * 2).
       */
      runtimeHandlers: handlers.length > 0 ? handlers : undefined,
      /** Operating system that the node reports, e.g. `Talos (v1.12.6)`. */
      osImage: status?.nodeInfo?.osImage,
    }),
  };
}

const wordsOf = ({ reason, message }: k8s.V1NodeCondition): string =>
  [reason, message].filter(Boolean).join(": ") || "the condition gives no reason";

/** A machine, as its Talos API reports it. */
export interface ObservedMachine {
  name: string;
  /** Talos release that it runs, e.g. `v1.12.6`. */
  talosVersion?: string;
  /** Schematic of the image that it runs. */
  schematicId?: string;
  /**
   * ID of that schematic with sorted extensions, to compare with the plan's `imageId`; undefined unless it is known
   * to differ from `schematicId`.
   */
  imageId?: string;
  installImage?: string;
  /** Loaded kernel modules; undefined if not observed. */
  modules?: string[];
  /** Version of the loaded driver; null or undefined if none is loaded. */
  driverVersion?: string | null;
  /** NVIDIA's cards on its PCI bus; undefined if not observed. */
  cards?: number;
  /** Their PCI IDs, e.g. `10de:2204`; undefined if not observed. */
  cardIds?: string[];
  /** Command line that its kernel was started with; undefined if not observed. */
  commandLine?: string;
  /** Names of its image's extensions, e.g. `nvidia-container-toolkit-production`; undefined if not observed. */
  extensions?: string[];
  /** Stage of its boot, e.g. `running`, `booting`. */
  stage?: string;
  /** Lines of its kernel log about a boot that does not go on. */
  bootErrors?: string[];
  /** Paths that the active configuration has more than once under machine.files. */
  repeatedFiles?: string[];
  /** Whether the next boot uses another configuration than the active one; undefined if not observed. */
  staged?: boolean;
  /** The containerd part of the active configuration (TOML); empty if it has none, undefined if not observed. */
  containerdPart?: string;
  /** containerd's whole configuration, merged by Talos (TOML); undefined if not observed. */
  mergedContainerd?: string;
  /** States of services, including those of extensions, e.g. `{"ext-nvidia-persistenced": "Waiting"}`. */
  services?: Record<string, string>;
  /** Error lines of its log, or of the program that starts it. */
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
  /** Its subject, e.g. `DaemonSet/nvidia-device-plugin`. */
  object: `${kind}/${name}`,
  message: message ?? "",
  ...defined({ namespace, reason }),
});

/** A message with its subject. */
export interface Message {
  about: string;
  namespace?: string;
  /** Node of its subject; undefined if it does not concern a single node. */
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
