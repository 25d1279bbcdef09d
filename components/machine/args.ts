import type * as pulumi from "@pulumi/pulumi";
import type {
  DevicePluginSpec,
  DriverSpec,
  ExternalSpec,
  GpuOperatorSpec,
  MachineSpec,
  ReleaseFactsSpec,
  SharingSpec,
  TimeoutsSpec,
  UpgradeSpec,
} from "../recipe/spec/index";

/** A kernel module that the machine must have loaded. */
export interface MachineKernelModule {
  /** E.g. `nvidia_uvm`. */
  name: string;
}

/** An extension service and the state that it must reach. */
export interface MachineExtensionService {
  /** E.g. `ext-nvidia-persistenced`. */
  name: string;
  /** As Talos names it: `Running` or `Finished`. */
  state: string;
}

/** A taint of the machine's node. */
export interface MachineTaint {
  key: string;
  value?: string;
  /** `NoSchedule`, `PreferNoSchedule` or `NoExecute`. */
  effect: string;
}

/** What follows from a machine's arguments, when it was computed before, as by the plan of a cluster. */
export interface GpuMachineRecipe {
  /** Canonical YAML of the schematic. */
  schematic: string;
  /** SHA-256 of it. */
  schematicId: string;
  installerImage: string;
  talosVersion: string;
  /** NVIDIA driver that the image brings; absent on a machine without a GPU. */
  driverVersion?: string;
  /** Branch of it (`595`), where the very version is assumed: all that is verified then. */
  driverBranch?: string;
  kernelModules: MachineKernelModule[];
  /** All patches of the machine's configuration (YAML text), in order. */
  patches: string[];
  /** Labels that the node gets. */
  nodeLabels: Record<string, string>;
  /** Taints that the node gets. */
  nodeTaints: MachineTaint[];
  extensionServices: MachineExtensionService[];
  /** Extensions of the image, sorted. Needed with Omni, which makes the schematic from them. */
  extensions?: string[];
  /** Sysctls that are set. Needed with Omni, where they show that the configuration is in effect. */
  sysctls?: Record<string, string>;
  /** TOML of the containerd part. Needed with Omni, for the same. */
  containerdPart?: string;
}

/** What each step of a machine is given: what it shall be, and what follows from that. */
export interface MachineInputs {
  /** Name of its node. */
  node: string;
  args: GpuMachineArgs;
  recipe: GpuMachineRecipe;
}

/** Arguments of a GPU machine: what it shall be, and the credentials to make it so. */
export interface GpuMachineArgs extends MachineSpec {
  /** Name of the machine's node in Kubernetes. Default: the name of the component. */
  nodeName?: string;
  /** Talos release that it shall run, e.g. `v1.12.6`. */
  talosVersion: string;
  /** What a release brings that is newer than the tables. Default: what the tables say, else an assumption. */
  releaseFacts?: ReleaseFactsSpec;
  /** Kubernetes release, e.g. `v1.35.0`. Required with an owned configuration. */
  kubernetesVersion?: string;
  /** Name of the Talos cluster. Required with an owned configuration, and with Omni's: its name there. */
  clusterName?: string;
  /** URL of the Kubernetes API. Required with an owned configuration. */
  clusterEndpoint?: string;
  /** NVIDIA driver. Default: see its fields. */
  driver?: DriverSpec;
  /** GPU Operator of the cluster, if it has one: the node's labels depend on it. */
  gpuOperator?: GpuOperatorSpec;
  /** Standalone device plugin of the cluster, if it has one: the node's labels depend on it. */
  devicePlugin?: DevicePluginSpec;
  /** What something else offers the GPUs with, if it does: the node's labels depend on its kind. */
  external?: ExternalSpec;
  /** Sharing or partitioning of the cards: the node's labels depend on it. */
  sharing?: SharingSpec;
  /** How it is brought to the wanted image. */
  upgrade?: UpgradeSpec;
  /** Limits of the waits. */
  timeouts?: TimeoutsSpec;
  /** Another text than before, or none any more, makes the next update look at the machine anew. Default none. */
  lookAgain?: string;
  /** Image Factory. Default `https://factory.talos.dev`. */
  factoryUrl?: string;
  /** Talos API addresses of the cluster's other control planes; a control plane is not touched unless they are up. Default none. */
  otherControlPlanes?: string[];
  /** Whether the machine starts in maintenance mode, and its first configuration installs Talos. Only with an owned configuration. Default false. */
  maintenance?: boolean;
  /** Whether etcd, and with it the Kubernetes cluster, is bootstrapped on this control plane, and its kubeconfig fetched. Default false. */
  bootstrap?: boolean;
  /** ID of the machine's schematic, where somebody else registers it at the Image Factory. Default: the component registers it. */
  schematicId?: pulumi.Input<string>;
  /** What follows from these arguments, when it was computed and checked before. Default: the component does. */
  recipe?: GpuMachineRecipe;
  /** Content of the Talos client configuration (talosconfig). Secret. Required with an owned configuration; default: the file that TALOSCONFIG names. */
  talosconfig?: pulumi.Input<string>;
  /** Content of `talosctl gen secrets`. Secret. Required with an owned configuration. */
  machineSecrets?: pulumi.Input<string>;
  /** Content of the kubeconfig that the machine is drained with. Secret. Default: the file that KUBECONFIG names. */
  kubeconfig?: pulumi.Input<string>;
  /** URL of Omni. Only with a configuration of Omni's; default: OMNI_ENDPOINT of the environment. */
  omniEndpoint?: pulumi.Input<string>;
  /** Key of a service account of Omni. Secret. Only with a configuration of Omni's; default: OMNI_SERVICE_ACCOUNT_KEY of the environment. */
  omniServiceAccountKey?: pulumi.Input<string>;
}
