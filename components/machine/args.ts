import type { Credentials } from "../credentials/credentials";
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

/** Arguments of a GPU machine: what it shall be, and the credentials to make it so. */
export interface GpuMachineArgs extends MachineSpec, Credentials {
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
  /** Another text than before, or none any more, makes the next update look at the machine again. Default none. */
  reconcileToken?: string;
  /** Image Factory. Default `https://factory.talos.dev`. */
  factoryUrl?: string;
}
