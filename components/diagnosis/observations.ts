import { defined } from "../recipe/mapping";

/**
 * What was seen of a system that does not become ready: the ground of a diagnosis. Plain data, made by those who look;
 * whatever could not be looked at stays out.
 */
export interface Observations {
  pods?: ObservedPod[];
  daemonSets?: ObservedDaemonSet[];
  deployments?: ObservedDeployment[];
  jobs?: ObservedJob[];
  nodes?: ObservedNode[];
  /** The cluster's RuntimeClasses; undefined when nobody looked. */
  runtimeClasses?: ObservedRuntimeClass[];
  namespaces?: ObservedNamespace[];
  /** Helm's releases, each in its newest revision. */
  releases?: ObservedRelease[];
  machines?: ObservedMachine[];
  /** Kubernetes events of any object. */
  events?: ObservedEvent[];
}

/** A container's state. */
export interface ObservedContainer {
  name: string;
  /** `waiting`, `running` or `terminated`. */
  state: string;
  ready?: boolean;
  /** Reason of a waiting or terminated container, e.g. `CreateContainerError`. */
  reason?: string;
  message?: string;
  /** Message of its last end, when it is not ready now. */
  lastMessage?: string;
  exitCode?: number;
  /** End of the log of a container that runs, and yet what it is there for is missing. */
  log?: string;
}

/** A pod with its containers, as Kubernetes has it. */
export interface ObservedPod {
  namespace: string;
  name: string;
  /** `Pending`, `Running`, `Succeeded`, `Failed`. */
  phase: string;
  /** Reason of the pod's own status, e.g. `UnexpectedAdmissionError`. */
  reason?: string;
  message?: string;
  node?: string;
  labels?: Record<string, string>;
  nodeSelector?: Record<string, string>;
  /** Whether it requests a resource of NVIDIA's. */
  gpus?: boolean;
  /** What made it, as `DaemonSet/name`; undefined for a bare pod. */
  owner?: string;
  /** Name of its RuntimeClass. */
  runtimeClass?: string;
  /** Images of its containers. */
  images?: string[];
  /** `NVIDIA_VISIBLE_DEVICES` of a container's own environment, where the pod sets it. */
  visibleDevices?: string;
  initContainers?: ObservedContainer[];
  containers?: ObservedContainer[];
}

/** A DaemonSet, and why it makes no pods. */
export interface ObservedDaemonSet {
  namespace: string;
  name: string;
  labels?: Record<string, string>;
  /** Node selector of its pods. */
  nodeSelector?: Record<string, string>;
  /** Pods that it wants, and pods that are ready. */
  desired: number;
  ready: number;
  /** Whether its controller has not taken up its last change yet. */
  outdated?: boolean;
}

/** A Deployment, and how many of its pods are ready. */
export interface ObservedDeployment {
  namespace: string;
  name: string;
  labels?: Record<string, string>;
  /** Pods that it wants, and pods that are ready; undefined when nobody looked. */
  desired?: number;
  ready?: number;
  /** Whether its controller has not taken up its last change yet. */
  outdated?: boolean;
}

/** A RuntimeClass, as Kubernetes has it. */
export interface ObservedRuntimeClass {
  name: string;
  /** Handler of the container runtime; undefined when nobody looked. */
  handler?: string;
}

/** A namespace with its labels. */
export interface ObservedNamespace {
  name: string;
  labels: Record<string, string>;
}

/** A Helm release, as its Secret's labels tell it. */
export interface ObservedRelease {
  namespace: string;
  name: string;
  /** `deployed`, `failed`, `pending-upgrade`, … */
  status: string;
  revision: number;
}

/** A Job, and how it ended. */
export interface ObservedJob {
  namespace: string;
  name: string;
  /** When it was made, RFC 3339; undefined when nobody looked. */
  created?: string;
  /** Pods that succeeded; undefined when nobody looked. */
  succeeded?: number;
  /** Why the gate gave a smoke test up that could have no unit: who uses them all. */
  untested?: string;
}

/** A node as Kubernetes has it. */
export interface ObservedNode {
  name: string;
  labels: Record<string, string>;
  /** Allocatable resources, e.g. `{"nvidia.com/gpu": "1"}`. */
  allocatable?: Record<string, string>;
  ready?: boolean;
  /** Why it is not ready, in the kubelet's or the control plane's words. */
  notReady?: string;
  /** Whether it is cordoned. */
  unschedulable?: boolean;
  /** Handlers that its container runtime has; undefined where the kubelet does not tell (Kubernetes ≤ 1.30, containerd < 2). */
  runtimeHandlers?: string[];
  /** Operating system as the node tells it, e.g. `Talos (v1.12.6)`. */
  osImage?: string;
  /** Taints as `key=value:Effect`, or `key:Effect` without a value; undefined when nobody looked. */
  taints?: string[];
}

/** A machine as its Talos API tells it. */
export interface ObservedMachine {
  name: string;
  /** Talos release that it runs, e.g. `v1.12.6`. */
  talosVersion?: string;
  /** Schematic of the image that it runs. */
  schematicId?: string;
  /** The same with its extensions sorted, as the plan has them (`imageId`); undefined where it is not known to differ. */
  imageId?: string;
  /** Installer image that its configuration names. */
  installImage?: string;
  /** Loaded kernel modules; undefined when nobody looked. */
  modules?: string[];
  /** Version of the loaded driver; null or undefined when none is loaded. */
  driverVersion?: string | null;
  /** NVIDIA's cards on its PCI bus; undefined when nobody looked. */
  cards?: number;
  /** Names of its image's extensions, e.g. `nvidia-container-toolkit-production`; undefined when nobody looked. */
  extensions?: string[];
  /** How far it has booted, e.g. `running`, `booting`. */
  stage?: string;
  /** Lines of its kernel log that say why the boot does not go on. */
  bootErrors?: string[];
  /** Paths that the configuration in force has more than once under machine.files. */
  repeatedFiles?: string[];
  /** Whether the next boot brings another configuration than the one in force; undefined when nobody looked. */
  staged?: boolean;
  /** The containerd part of the configuration in force (TOML); empty when it has none, undefined when nobody looked. */
  containerdPart?: string;
  /** Extension services and their states, e.g. `{"ext-nvidia-persistenced": "Waiting"}`. */
  services?: Record<string, string>;
  /** Lines of its log or of the program that brings it up. */
  errors?: string[];
}

/** An event of Kubernetes. */
export interface ObservedEvent {
  namespace?: string;
  /** Object that it is about, e.g. `DaemonSet/nvidia-device-plugin`. */
  object: string;
  reason?: string;
  message: string;
}

/** A message with the object that it is about. */
export interface Message {
  about: string;
  namespace?: string;
  /** Node of the pod, or the machine, that it is about; undefined for what is about no single one. */
  node?: string;
  text: string;
}

/** Every message of the observations, from every source. */
export function messagesOf(seen: Observations): Message[] {
  const own = (pod: ObservedPod): Message[] =>
    [
      pod.message,
      ...[...(pod.initContainers ?? []), ...(pod.containers ?? [])].flatMap((c) => [c.message, c.lastMessage, c.log]),
    ]
      .filter((text) => text !== undefined)
      .map((text) => ({ about: `Pod/${pod.name}`, namespace: pod.namespace, ...defined({ node: pod.node }), text }));
  const nodeOf = ({ object, namespace }: ObservedEvent): string | undefined =>
    seen.pods?.find((pod) => object === `Pod/${pod.name}` && pod.namespace === namespace)?.node;
  return [
    ...(seen.pods ?? []).flatMap(own),
    ...(seen.events ?? []).map((event) => ({
      about: event.object,
      ...defined({ namespace: event.namespace, node: nodeOf(event) }),
      text: event.message,
    })),
    ...(seen.machines ?? []).flatMap((machine) =>
      (machine.errors ?? []).map((text) => ({ about: `machine ${machine.name}`, node: machine.name, text })),
    ),
  ];
}
