import type { Injection } from "./facts/talos-release";
import type { GpuProviderName } from "./facts/gpu-provider";
import type { FieldFinding } from "./rules/finding";
import type { ClusterSpec, MachineRole, ConfigurationOwner, ImagesSpec } from "./spec/index";

export type { Injection } from "./facts/talos-release";
export type { GpuProviderName } from "./facts/gpu-provider";
export type { Severity } from "./rules/finding";

/**
 * A finding about a stack: a mistake, a warning or a note. Rendered as `field: problem; why; remedy`. A finding without
 * a severity refuses the stack.
 */
export interface Finding extends FieldFinding {
  /** Name of the check, e.g. `driver-branches`. */
  check: string;
}

/** A plan with the warnings and notes about its stack. */
export interface CheckedPlan extends Plan {
  remarks: Finding[];
}

/** A kernel module that a machine loads. */
export interface KernelModule {
  name: string;
  parameters?: string[];
}

/** Wanted state of a running extension service. */
export interface ExtensionService {
  name: string;
  state: "Running" | "Finished";
}

/** The recipe of one machine: everything that its update does. */
export interface MachineRecipe {
  name: string;
  address: string;
  role: MachineRole;
  configuration: ConfigurationOwner;
  injection: Injection;
  /** Number of cards; 0 means that the machine is not a GPU machine. */
  gpuCount: number;
  /** Sorted, without duplicates. */
  extensions: string[];
  /** Canonical YAML of the schematic, whose SHA-256 is the ID; empty for a user's own image. */
  schematic: string;
  /** ID of the schematic; for a user's own image the SHA-256 of the image's reference. */
  schematicId: string;
  /** Whether the installer image is the user's own, with an unknown schematic. */
  ownImage?: true;
  /** Installer image: factory host, platform, schematic ID, release. */
  installerImage: string;
  talosVersion: string;
  /** Version of the driver in the extensions, e.g. `570.211.01`; undefined on a machine without a GPU. */
  driverVersion?: string;
  /** Branch of the driver (`595`), if its version is assumed. Then only the branch can be verified on the machine. */
  driverBranch?: string;
  /** Kernel modules that the machine must have loaded, from any patch; empty without a GPU. */
  kernelModules: KernelModule[];
  sysctls: Record<string, string>;
  /** TOML of the machine's containerd part; undefined without settings. */
  containerdPart?: string;
  /**
   * Strategic-merge patches (YAML text): the cluster's, the machine's, and the package's own. No file path occurs
   * twice.
   */
  patches: string[];
  /** ID of the machine in Omni, if Omni owns it. */
  uuid?: string;
  /** Labels that the update sets on the node through the Kubernetes API. */
  nodeLabels: Record<string, string>;
  /** Taints that the update sets on the node through the Kubernetes API. */
  nodeTaints: NodeTaint[];
  extensionServices: ExtensionService[];
  /** Numbers of GPUs that the node should offer: units by the resource's name, or devices by their class. */
  allocatable: Record<string, number>;
  /**
   * Resources that the node may offer in a greater number, because the number of its cards' MIG instances is unknown.
   * Absent if there are none.
   */
  atLeast?: string[];
  /** Power limit of the cards in watts, if the stack sets one. */
  powerLimit?: number;
}

/** A taint of a node. */
export interface NodeTaint {
  key: string;
  value?: string;
  effect: string;
}

/** A toleration of a pod. */
export interface PodToleration {
  key: string;
  operator: "Exists" | "Equal";
  value?: string;
  effect?: string;
}

/** A Helm release of the stack. */
export interface ReleaseRecipe {
  name: string;
  namespace: string;
  chart: string;
  repository: string;
  version: string;
  values: Record<string, unknown>;
}

/** A file that the marker DaemonSet keeps under `/run/nvidia/validations`. */
export interface Marker {
  file: string;
  content: string;
}

/** The plan of the Kubernetes part. */
export interface KubernetesRecipe {
  injection: Injection;
  mode: GpuProviderName;
  release: ReleaseRecipe;
  /**
   * Release of LeaderWorkerSet, which keeps the pods of a workload over several machines together, if the stack
   * installs it.
   */
  leaderWorkerSet?: ReleaseRecipe;
  /**
   * Whether another tool installs the release, so that the stack creates and changes no part of it. Absent if the stack
   * installs it.
   */
  external?: true;
  /** Whether the namespace of an external release is unknown, so that it must be looked up. Absent if it is known. */
  assumesNamespace?: true;
  /** Tool that installs the release, e.g. `Flux`; absent if it is unknown, or if the stack installs the release. */
  by?: string;
  /**
   * Whether release, namespace and RuntimeClass stay in the cluster when they leave the stack. Absent if they are
   * deleted.
   */
  handBack?: true;
  /** Namespace of the stack's own objects: the release's namespace, or the package's own if the release is external. */
  namespace: string;
  /**
   * Labels of that namespace; undefined if the stack does not create it (`kube-system`, a release that was taken over).
   */
  namespaceLabels?: Record<string, string>;
  /**
   * RuntimeClass of the GPU pods. `owner` creates it; `other` is another owner. With an empty name pods have no
   * RuntimeClass. With an empty handler the machines have no handler of NVIDIA's.
   */
  runtimeClass: { name: string; handler: string; owner: "component" | "operator" | "other" };
  /** Marker files; empty if the operator's validator writes them. */
  markers: Marker[];
  /** Tolerations of all pods that must run on the GPU machines. */
  tolerations: PodToleration[];
  /** Node selector of GPU machines. */
  nodeSelector: Record<string, string>;
  /** Resource that workloads request, e.g. `nvidia.com/gpu`, or DeviceClass that they claim, e.g. `gpu.nvidia.com`. */
  resourceName: string;
  /** Device plugin configuration (YAML) for sharing; undefined without sharing. */
  sharingConfig?: string;
  /**
   * Settings of the MIG manager; undefined without MIG. `only` is the profile behind a resource that whole cards also
   * have (strategy single). Such a resource does not distinguish a MIG device from a card.
   */
  mig?: { config: string; only?: string };
  smokeTestImage: string;
  /** Images of the package's own pods on the GPU machines. */
  images: Required<ImagesSpec>;
  /** Newest CUDA that the drivers of all GPU machines support, e.g. `12.8`. */
  cudaVersion: string;
}

/** The plan of a stack: everything that an update will do. */
export interface Plan {
  spec: ClusterSpec;
  injection: Injection;
  /** In upgrade order: control planes first, then the workers of `upgrade.first`, then the others. */
  machines: MachineRecipe[];
  kubernetes: KubernetesRecipe;
  /**
   * For each machine, the machines that must be complete before its upgrade starts. Control planes and the workers of
   * `upgrade.first` are upgraded one at a time, and other workers in a window.
   */
  after: Record<string, string[]>;
}
