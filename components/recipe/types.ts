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
  /** Set if the installer image is the user's own (`installerImage`), so that its schematic is unknown. */
  ownImage?: true;
  /**
   * Reference of the installer image: the Factory's host, platform, schematic ID and Talos release, or the user's own
   * image.
   */
  installerImage: string;
  talosVersion: string;
  /** Version of the driver in the extensions, e.g. `570.211.01`; undefined on a machine without a GPU. */
  driverVersion?: string;
  /**
   * Branch of the driver, e.g. `595`. Set if the package only assumes the driver's version, so that the update can
   * verify only the branch.
   */
  driverBranch?: string;
  /** Kernel modules that the machine must have loaded, including those of the user's patches; empty without a GPU. */
  kernelModules: KernelModule[];
  sysctls: Record<string, string>;
  /** Content (TOML) of the machine's file `/etc/cri/conf.d/20-customization.part`; undefined without settings. */
  containerdPart?: string;
  /**
   * Strategic-merge patches (YAML text): the cluster's, the machine's, and the package's own. Together they write no
   * file path twice.
   */
  patches: string[];
  /** ID of the machine in Omni, if Omni owns it. */
  uuid?: string;
  /** Labels that the update sets on the node through the Kubernetes API. */
  nodeLabels: Record<string, string>;
  /** Taints that the update sets on the node through the Kubernetes API. */
  nodeTaints: NodeTaint[];
  extensionServices: ExtensionService[];
  /** Numbers of GPUs that the node should offer, by the name of the extended resource or of the DeviceClass. */
  allocatable: Record<string, number>;
  /**
   * Names in `allocatable` whose number may be higher on the node, because sharing or MIG may split its cards. Absent if
   * every number is exact.
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

/** A file that the stack's DaemonSet for marker files keeps under `/run/nvidia/validations`. */
export interface Marker {
  file: string;
  content: string;
}

/** Update strategy of a DaemonSet. */
export interface UpdateStrategy {
  type: "RollingUpdate";
  rollingUpdate: { maxUnavailable: number | string };
}

/** The plan of the Kubernetes part. */
export interface KubernetesRecipe {
  injection: Injection;
  mode: GpuProviderName;
  release: ReleaseRecipe;
  /**
   * Release of LeaderWorkerSet, the controller for workloads over several machines; absent if the stack does not
   * install it.
   */
  leaderWorkerSet?: ReleaseRecipe;
  /** Set if another tool installs the release, so that the stack changes nothing in it. */
  external?: true;
  /**
   * Set if the stack does not name the namespace of an external release. `release.namespace` is then an assumption,
   * which the cluster may correct.
   */
  assumesNamespace?: true;
  /** Tool that installs the release, e.g. `Flux`; absent if it is unknown, or if the stack installs the release. */
  by?: string;
  /** Set if release, namespace and RuntimeClass stay in the cluster when they leave the stack. */
  handBack?: true;
  /** Namespace of the stack's own objects: the release's namespace, or the package's own if the release is external. */
  namespace: string;
  /**
   * Labels of this namespace; undefined if the stack does not create it, e.g. `kube-system` or the namespace of a
   * release that was taken over.
   */
  namespaceLabels?: Record<string, string>;
  /**
   * RuntimeClass of the GPU pods. `owner` says who creates it: this stack (`component`), the GPU Operator, or another
   * tool (`other`). If `name` is empty, pods have no RuntimeClass. If `handler` is empty, the machines have no runtime
   * of NVIDIA.
   */
  runtimeClass: { name: string; handler: string; owner: "component" | "operator" | "other" };
  /** Marker files; empty if the operator's validator writes them. */
  markers: Marker[];
  /** Tolerations of all pods that must run on the GPU machines. */
  tolerations: PodToleration[];
  /** Update strategy of the stack's own DaemonSets. */
  updateStrategy: UpdateStrategy;
  /** Set if a machine may be off while the stack deletes a DaemonSet. */
  deletesInBackground?: true;
  /** Node selector of GPU machines. */
  nodeSelector: Record<string, string>;
  /** Resource that workloads request, e.g. `nvidia.com/gpu`, or DeviceClass that they claim, e.g. `gpu.nvidia.com`. */
  resourceName: string;
  /** Device plugin configuration (YAML) for sharing; undefined without sharing. */
  sharingConfig?: string;
  /**
   * Settings of the MIG manager; undefined without MIG. `config` is the name of its configuration. `only` is set with
   * the strategy `single`: it is the profile of the MIG devices, because their resource name does not distinguish a MIG
   * device from a whole card.
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
   * For each machine, the machines that must be complete before its upgrade starts. The update upgrades control planes
   * and the workers of `upgrade.first` one at a time, and at most `upgrade.maxParallel` other workers at the same time.
   */
  after: Record<string, string[]>;
}
