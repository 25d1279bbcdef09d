import type { Era } from "./facts/talos-release";
import type { GpuProviderName } from "./facts/gpu-provider";
import type { FieldFinding } from "./rules/finding";
import type { ClusterSpec, MachineRole, ConfigurationOwner, ImagesSpec } from "./spec/index";

export type { Era } from "./facts/talos-release";
export type { GpuProviderName } from "./facts/gpu-provider";
export type { Severity } from "./rules/finding";

/**
 * One thing that is wrong with a stack, or good to know of it. Rendered as `field: problem; why; remedy`. Without a
 * severity it refuses the stack.
 */
export interface Finding extends FieldFinding {
  /** Name of the check, e.g. `driver-branches`. */
  check: string;
}

/** A plan with what was found of its stack that does not refuse it: warnings and notes. */
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

/** All that follows for one machine. */
export interface MachineRecipe {
  name: string;
  address: string;
  role: MachineRole;
  configuration: ConfigurationOwner;
  era: Era;
  /** Number of cards; 0 means that the machine is not a GPU machine. */
  gpuCount: number;
  /** Sorted, without duplicates. */
  extensions: string[];
  /**
   * Canonical YAML of the schematic, byte for byte what its ID is the SHA-256 of; of an image of the user's own an
   * empty one.
   */
  schematic: string;
  /** ID of the schematic; for an image of the user's own the SHA-256 of its reference. */
  schematicId: string;
  /** The installer image is the user's own, and of no schematic that is known. */
  ownImage?: true;
  /** Installer image: factory host, platform, schematic ID, release. */
  installerImage: string;
  talosVersion: string;
  /** Driver that the extensions bring, e.g. `570.211.01`; undefined on a machine without a GPU. */
  driverVersion?: string;
  /** Branch of it (`595`), where the very version is assumed: all that can be verified on the machine. */
  driverBranch?: string;
  /** Kernel modules that the machine must have loaded, whichever patch declares them; empty without a GPU. */
  kernelModules: KernelModule[];
  sysctls: Record<string, string>;
  /** TOML of the machine's one containerd part; undefined when there is nothing to say. */
  containerdPart?: string;
  /** Strategic-merge patches (YAML text): the cluster's, the machine's own, ours. Never a file path twice. */
  patches: string[];
  /** ID of the machine in Omni, when it is Omni's. */
  uuid?: string;
  /** Labels that go to the node through the Kubernetes API. */
  nodeLabels: Record<string, string>;
  /** Taints that go to the node through the Kubernetes API. */
  nodeTaints: NodeTaint[];
  extensionServices: ExtensionService[];
  /** Units of the GPU resource that the node should offer, by its name; devices of it, by their class. */
  allocatable: Record<string, number>;
  /**
   * Resources that the node may offer in greater number: into how many MIG instances its cards can be split is not
   * known. Absent where there are none.
   */
  atLeast?: string[];
  /** Watts, when the stack limits the cards. */
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

/** All that follows for Kubernetes. */
export interface KubernetesRecipe {
  era: Era;
  mode: GpuProviderName;
  release: ReleaseRecipe;
  /** LeaderWorkerSet, which keeps the pods of workloads over several machines together, if the stack installs it. */
  leaderWorkerSet?: ReleaseRecipe;
  /**
   * Whether something outside of the stack installs the release: nothing of it is made or touched. Absent where the
   * stack does.
   */
  external?: true;
  /** Whether its namespace is unknown and has to be looked up. Absent where something does. */
  assumesNamespace?: true;
  /** Who installs it, e.g. `Flux`; absent where nothing tells, and where the stack does. */
  by?: string;
  /** Whether release, namespace and RuntimeClass stay when they leave the stack. Absent where they go with it. */
  handBack?: true;
  /** Namespace of what the stack makes for its GPUs: the release's, or one of its own if the release is external. */
  namespace: string;
  /**
   * Labels of that namespace; undefined when the namespace is not ours to make (`kube-system`, a release that was
   * taken over).
   */
  namespaceLabels?: Record<string, string>;
  /**
   * `owner`: who makes it; `other` is another owner. An empty name: pods have none. An empty handler: machines have
   * none of NVIDIA's.
   */
  runtimeClass: { name: string; handler: string; owner: "component" | "operator" | "other" };
  /** Empty where the release's own validator does the work. */
  markers: Marker[];
  /** Tolerations of everything that must run on the GPU machines. */
  tolerations: PodToleration[];
  /** Node selector of GPU machines. */
  nodeSelector: Record<string, string>;
  /**
   * Resource that workloads request, e.g. `nvidia.com/gpu`, or class of the devices that they claim, e.g.
   * `gpu.nvidia.com`.
   */
  resourceName: string;
  /** Device plugin configuration (YAML) for sharing; undefined without sharing. */
  sharingConfig?: string;
  /**
   * How the MIG manager splits the cards; undefined without MIG. `only`: the one profile behind a resource that whole
   * cards have too (strategy single). Then the resource alone does not distinguish a slice from a card.
   */
  mig?: { config: string; only?: string };
  smokeTestImage: string;
  /** Images of what this package itself runs on the GPU machines. */
  images: Required<ImagesSpec>;
  /** Newest CUDA that the driver of every GPU machine runs, e.g. `12.8`. */
  cudaVersion: string;
}

/** Everything a stack will do, computed before anything is contacted. */
export interface Plan {
  spec: ClusterSpec;
  era: Era;
  /** In upgrade order: control planes first, then the workers of `upgrade.first`, then the others. */
  machines: MachineRecipe[];
  kubernetes: KubernetesRecipe;
  /**
   * For each machine, the machines that must be complete before it starts. Control planes and the workers of
   * `upgrade.first` go one at a time, other workers in a window.
   */
  after: Record<string, string[]>;
}
