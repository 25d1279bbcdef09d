import type { MachineSpec } from "./machine";
import type { SharingSpec } from "./sharing";
import type { WorkloadsSpec } from "./workloads";

/** Branch of NVIDIA's driver as Talos' extensions name it. On Talos 1.12 `lts` is newer than `production`. */
export const DriverBranch = { lts: "lts", production: "production" } as const;
export type DriverBranch = (typeof DriverBranch)[keyof typeof DriverBranch];

/** Flavour of the kernel modules: `open` (Turing and newer; the only one for Blackwell) or `proprietary`. */
export const ModuleFlavour = { open: "open", proprietary: "proprietary" } as const;
export type ModuleFlavour = (typeof ModuleFlavour)[keyof typeof ModuleFlavour];

/** NVIDIA driver of the cluster. */
export interface DriverSpec {
  /** Default `production`, or `lts` where the card or the release asks for it. */
  branch?: DriverBranch;
  /** Default follows from the card: `open` from Turing on, `proprietary` before. */
  flavour?: ModuleFlavour;
}

/** NVIDIA GPU Operator. Exclusive with `devicePlugin`. */
export interface GpuOperatorSpec {
  /** Chart release, e.g. `v25.10.1`. */
  version: string;
  /** Default `gpu-operator`. */
  namespace?: string;
  /** Further chart values, merged over ours. A value that the chart does not have is refused. */
  values?: Record<string, any>;
}

/**
 * NVIDIA's standalone device plugin. Exclusive with `gpuOperator`. From Talos 1.13 on, Talos documents and tests the operator
 * alone; the plugin works there with what is emitted, as it does before.
 */
export interface DevicePluginSpec {
  /** Chart release, e.g. `0.17.4`. */
  version: string;
  /** Default `nvidia-device-plugin`. */
  namespace?: string;
  /** Further chart values, merged over ours. A value that the chart does not have is refused. */
  values?: Record<string, any>;
}

/** Metrics of the cards (DCGM exporter), for Prometheus and Grafana that are there already. */
export interface MonitoringSpec {
  /**
   * Make a ServiceMonitor. The cluster must have the Prometheus Operator's definition of it: a preview looks, and ends with
   * `servicemonitors.monitoring.coreos.com does not exist` when it is not there. Default false.
   */
  serviceMonitor?: boolean;
  /** Make a ConfigMap with a Grafana dashboard, which the sidecar of Grafana's chart loads by its label. Default true. */
  dashboard?: boolean;
  /** Namespace of the dashboard; it must exist. Default: the release's, which Grafana's sidecar reads when it searches all. */
  namespace?: string;
  /** Further labels of the ServiceMonitor, as Prometheus selects by, e.g. `release: kube-prometheus-stack`. Default none. */
  labels?: Record<string, string>;
}

/**
 * Images of what this package itself runs on GPU nodes, e.g. for a mirror of one's own. That the default tags are served is
 * not verified: this package asks no registry.
 */
export interface ImagesSpec {
  /** Of the validation markers; any with sh, cmp and cp. Not verified; default `busybox:1.37`. */
  validationMarkers?: string;
  /** Of the power limit; any with bash, awk and glibc. Not verified; default `ubuntu:24.04`. */
  powerLimit?: string;
  /** Of the DCGM exporter beside the device plugin. Not verified; default `nvcr.io/nvidia/k8s/dcgm-exporter` as GPU Operator v26.3.3 has it. */
  dcgmExporter?: string;
}

/** How machines are brought to the wanted image. */
export interface UpgradeSpec {
  /** Workers that may be upgraded at a time. Default 1. Control planes always go one at a time, first. */
  maxParallel?: number;
  /** Evict pods before the reboot. Default true; a cluster of one node has nowhere to go and is not drained. */
  drain?: boolean;
}

/** Limits of the waits, as durations like `10m`, `90s`. */
export interface TimeoutsSpec {
  /** A machine's installer pull. Default `10m`. */
  pull?: string;
  /** Eviction of a machine's pods. Default `5m`. */
  drain?: string;
  /** A machine's install and reboot, until it runs the wanted image. Default `30m`. */
  reboot?: string;
  /** Modules, driver and extension services after the reboot. Default `5m`. */
  verify?: string;
  /** A release, until its objects are ready. Default `10m`. */
  release?: string;
  /** A machine's smoke test. Default `10m`. */
  gate?: string;
  /** A workload, until it is ready. Default `20m`. */
  workload?: string;
}

/**
 * What a Talos release brings that the tables do not know yet. The stacks' program asks the Image Factory for it once per
 * preview; a program of one's own takes it from `GpuCluster.withFacts`; where no Factory can be asked, the stack may say it.
 */
export interface ReleaseFactsSpec {
  /** Release that this is about, e.g. `v1.13.10`. Of another one than the stack's it counts for nothing. */
  talosVersion: string;
  /** Driver of the branch `lts`, e.g. `580.178.04`. */
  lts?: string;
  /** Driver of the branch `production`, e.g. `595.91.07`. */
  production?: string;
  /** NVIDIA container toolkit, e.g. `1.19.1`. */
  toolkit?: string;
  /** Names of its official extensions. */
  extensions?: string[];
  /** The Factory has no such release. */
  missing?: boolean;
  /** Why the Factory gave no answer; drivers are assumed then. */
  silent?: string;
}

/** A GPU cluster: what one stack provisions. */
export interface ClusterSpec {
  /** Talos release that the machines shall run, e.g. `v1.12.6`. */
  talosVersion: string;
  /** Kubernetes release of owned machines, e.g. `v1.35.0`. Required with an owned machine. */
  kubernetesVersion?: string;
  /** What a release brings that is newer than the tables. Default: what the tables or the Image Factory say. */
  releaseFacts?: ReleaseFactsSpec;
  /** Name of the Talos cluster. Required with an owned machine, and with one of Omni's: its name there. */
  clusterName?: string;
  /** URL of the Kubernetes API, e.g. `https://10.0.10.10:6443`. Required with an owned machine. */
  clusterEndpoint?: string;
  /**
   * Make the cluster: its machines are in maintenance mode when the first update begins, and it makes secrets, installs
   * Talos with the wanted image, bootstraps etcd on the first control plane by name, and fetches the kubeconfig. Stays as it
   * is afterwards: the secrets and the way to the cluster are the stack's. All machines are owned, and one at least is a
   * control plane. Default false: the cluster is there.
   */
  bootstrap?: boolean;
  /** Machines by node name. */
  machines: Record<string, MachineSpec>;
  /** Patches of every machine (YAML text), e.g. a registry mirror. Containerd parts are refused here. */
  patches?: string[];
  /** NVIDIA driver of the machines. Default: see its fields. */
  driver?: DriverSpec;
  /** Expose the GPUs by NVIDIA's GPU Operator. Exactly one of this and `devicePlugin`. */
  gpuOperator?: GpuOperatorSpec;
  /** Expose the GPUs by NVIDIA's standalone device plugin. */
  devicePlugin?: DevicePluginSpec;
  /** Sharing or partitioning of the cards. Default none. */
  sharing?: SharingSpec;
  /** Metrics of the cards. Default none but what the GPU Operator exports by itself. */
  monitoring?: MonitoringSpec;
  /** What runs on the GPUs. Default nothing. */
  workloads?: WorkloadsSpec;
  /** How machines are brought to the wanted image. Default: see its fields. */
  upgrade?: UpgradeSpec;
  /** Limits of the waits. Default: see its fields. */
  timeouts?: TimeoutsSpec;
  /** Image Factory. Default `https://factory.talos.dev`. */
  factoryUrl?: string;
  /**
   * Image of the smoke test. Default: a CUDA sample that the driver can run. Not verified on Blackwell, for which the sample
   * of CUDA 12.5 has no code of its own and leaves it to the driver to compile some.
   * With MIG's strategy `single` it needs `sh` and `grep` too, which look for the slice before the test.
   */
  smokeTestImage?: string;
  /** Images of what this package itself runs on GPU nodes. Default: see its fields. */
  images?: ImagesSpec;
}
