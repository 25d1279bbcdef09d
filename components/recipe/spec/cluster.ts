import type { DriverSpec } from "./driver";
import type { ExternalSpec } from "./external";
import type { MachineDefaultsSpec, MachineEntrySpec, MachineSpec, PoolSpec } from "./machine";
import type { ImagesSpec, ReleaseFactsSpec } from "./release-facts";
import type {
  DevicePluginSpec,
  DraSpec,
  GpuOperatorSpec,
  LeaderWorkerSetSpec,
  MonitoringSpec,
} from "./releases";
import type { SharingSpec } from "./sharing";
import type { TimeoutsSpec, UpgradeSpec } from "./update";
import type { WorkloadsSpec } from "./workloads/workloads";

/** Fields of a cluster that a stack has, and that a program also sets for a `GpuMachine` outside of a `GpuCluster`. */
export interface AroundMachinesSpec {
  /**
   * Talos release that the machines should run, from Talos 1.8 to 1.15.
   * @example `v1.12.6`
   * @causes one reboot of each machine that runs another release
   */
  talosVersion: string;
  /**
   * Kubernetes release of the machines with `configuration: owned`. Required if there is such a machine. If an owned
   * machine is a control plane, one update may raise this release by at most one minor. Without `bootstrap: true`, run
   * `talosctl upgrade-k8s` after such an update: only a stack that bootstraps its cluster updates kube-proxy, CoreDNS
   * and flannel.
   * @default none
   * @example `v1.35.0`
   * @causes a new configuration of owned machines, without a reboot
   */
  kubernetesVersion?: string;
  /**
   * Drivers, toolkit and extensions of the stack's Talos release. Needed only if the package's tables lack the
   * release and no Image Factory can be reached.
   * @default those in the package's tables, else those that the Image Factory reports
   * @example `{ talosVersion: v1.13.10, production: 595.91.07 }`
   */
  releaseFacts?: ReleaseFactsSpec;
  /**
   * Name of the Talos cluster. Required if a machine has `configuration: owned` or `omni`. For machines in Omni, it is
   * the name of their cluster in Omni.
   * @default none
   * @example `home`
   * @causes a new configuration of owned machines, without a reboot
   */
  clusterName?: string;
  /**
   * URL of the Kubernetes API. Required if a machine has `configuration: owned`.
   * @default none
   * @example `https://10.0.10.10:6443`
   * @causes a new configuration of owned machines, without a reboot
   */
  clusterEndpoint?: string;
  /**
   * NVIDIA driver of the machines.
   * @default the defaults of its fields
   * @example `{ branch: lts }`
   */
  driver?: DriverSpec;
  /**
   * Expose the GPUs with NVIDIA's GPU Operator. A cluster has exactly one of `gpuOperator`, `devicePlugin`, `dra` and
   * `external`.
   * @default none
   * @example `{ version: v25.10.1 }`
   */
  gpuOperator?: GpuOperatorSpec;
  /**
   * Expose the GPUs with NVIDIA's standalone device plugin. A cluster has exactly one of `gpuOperator`, `devicePlugin`,
   * `dra` and `external`.
   * @default none
   * @example `{ version: 0.17.4 }`
   */
  devicePlugin?: DevicePluginSpec;
  /**
   * Expose the GPUs with NVIDIA's driver for dynamic resource allocation (DRA): pods request GPUs by ResourceClaims. A
   * cluster has exactly one of `gpuOperator`, `devicePlugin`, `dra` and `external`.
   * @default none
   * @example `{ version: 0.5.0 }`
   */
  dra?: DraSpec;
  /**
   * GPU provider that another tool installs, such as Flux or Argo CD. A cluster has exactly one of `gpuOperator`,
   * `devicePlugin`, `dra` and `external`.
   * @default none
   * @example `{ files: [../flux/gpu-operator/helmrelease.yaml] }`
   */
  external?: ExternalSpec;
  /**
   * Sharing or partitioning of the cards; at most one kind.
   * @default none
   * @example `{ timeSlicing: { replicas: 4 } }`
   */
  sharing?: SharingSpec;
  /**
   * Order of the upgrades, how many machines are upgraded at the same time, and whether pods are evicted first.
   * @default the defaults of its fields
   * @example `{ maxParallel: 4 }`
   */
  upgrade?: UpgradeSpec;
  /**
   * Limits on how long an update waits for each step, as durations such as `10m` or `90s`.
   * @default the defaults of its fields
   * @example `{ reboot: 45m }`
   */
  timeouts?: TimeoutsSpec;
  /**
   * Text that you change to make the next update inspect every machine, its node, the Helm release and every object of
   * the stack. Any text is valid, for example today's date. That update restores whatever was changed by hand, and
   * changes nothing else. An update with an unchanged text trusts the state that the last update recorded.
   * @default none
   * @example `2026-11-22`
   * @causes an inspection of every machine, and a reboot of each machine whose image or staged configuration differs
   *   from the stack
   */
  reconcileToken?: string;
  /**
   * URL of the Image Factory. The package registers schematics there, and the installer images come from there.
   * @default `https://factory.talos.dev`
   * @example `https://factory.example.org`
   * @causes no reboot by itself: the next upgrade uses the new Factory's installer
   */
  factoryUrl?: string;
}

/** Fields of the cluster in a stack: all but its machines. */
export interface ClusterOptionsSpec extends AroundMachinesSpec {
  /**
   * Drivers, toolkit and extensions of the Talos releases that machines or pools set as their own `talosVersion`. Each
   * entry has the fields of `releaseFacts`. Needed only if the package's tables lack the release and no Image Factory
   * can be reached.
   * @default those in the package's tables, else those that the Image Factory reports
   * @example `[{ talosVersion: v1.13.11, production: 595.99.10 }]`
   */
  otherReleaseFacts?: ReleaseFactsSpec[];
  /**
   * Create the cluster from machines that wait in maintenance mode. The first update makes the secrets and installs
   * Talos with the wanted image. It then bootstraps etcd on the control plane whose name is alphabetically first, and
   * fetches the kubeconfig. Leave `bootstrap: true` afterwards, because the stack holds the secrets and the kubeconfig.
   * Every machine must have `configuration: owned`, and at least one must be a control plane. The machines must have
   * started from a boot medium of Talos 1.13 or newer, even if the stack installs an older release.
   * @default `false`: the cluster already exists
   * @example `true`
   */
  bootstrap?: boolean;
  /**
   * Strategic-merge patches for the configuration of every machine, each as YAML text, e.g. a registry mirror. A patch
   * that writes containerd's configuration file is refused: set containerd's options under `containerd` of a machine.
   * @default none
   * @example `["machine: { sysctls: { vm.nr_hugepages: '1024' } }"]`
   * @causes a new configuration; one reboot only if the running Talos does not apply a changed part, such as
   *   `machine.files`, or if kernel modules of a GPU machine change
   */
  patches?: string[];
  /**
   * Metrics of the cards: Prometheus objects and a Grafana dashboard.
   * @default none; the GPU Operator exports metrics without this field
   * @example `{ serviceMonitor: true }`
   */
  monitoring?: MonitoringSpec;
  /**
   * Install LeaderWorkerSet, which a workload over several machines needs (`workloads.vllm.machines`).
   * @default none: the workload uses the LeaderWorkerSet that another tool installed
   * @example `{ version: 0.9.0 }`
   */
  leaderWorkerSet?: LeaderWorkerSetSpec;
  /**
   * Model servers and pods that run on the GPUs, and a LiteLLM proxy for the servers.
   * @default none
   * @example `{ ollama: { models: [llama3.2:3b] } }`
   */
  workloads?: WorkloadsSpec;
  /**
   * Names of the machines that are offline: an update skips them. Each must have `mayBeAway: true`.
   * @default the machines that the preview finds offline; your own program finds them with `GpuCluster.withFacts`; none
   *   with `bootstrap: true`
   * @example `[gpu-3]`
   */
  away?: string[];
  /**
   * Image of the smoke test. The image must contain `sh`: a second container of the test runs a shell script. This
   * container requests no card, and reports the cards that it sees. With MIG's strategy `single` the image must also
   * contain `grep`, which looks for the MIG device before the test. The default image was not tested on a Blackwell
   * card: CUDA 12.5 has no machine code for Blackwell, so the driver must compile the sample's PTX code.
   * @default a CUDA sample that the machine's driver can run
   * @example `nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0`
   */
  smokeTestImage?: string;
  /**
   * Images of the package's own DaemonSets on GPU nodes.
   * @default the defaults of its fields
   * @example `{ powerLimit: registry.example.org/ubuntu:24.04 }`
   */
  images?: ImagesSpec;
}

/** A GPU cluster with all its machines, as one stack provisions it. */
export interface ClusterSpec extends ClusterOptionsSpec {
  /**
   * Machines by node name.
   * @example `{ gpu-1: { address: 192.168.1.224, role: worker, configuration: adopted, gpus: [{ model: RTX 5070 Ti }]
   * } }`
   */
  machines: Record<string, MachineSpec>;
}

/**
 * A stack as the user writes it. The package turns `pools` and `machineDefaults` into complete machines (`ClusterSpec`)
 * before it checks the stack.
 */
export interface StackSpec extends ClusterOptionsSpec {
  /**
   * Machines by node name.
   * @default only the machines of `pools`
   * @example `{ gpu-1: { address: 192.168.1.224, role: worker, configuration: adopted, gpus: [{ model: RTX 5070 Ti }]
   * } }`
   */
  machines?: Record<string, MachineEntrySpec>;
  /**
   * Fields of every machine, unless its pool or the machine itself sets them. Any field of a machine is allowed
   * except `address` and `uuid`. `labels`, `taints`, `containerd`, `driver` and `moduleParameters` are merged key by
   * key. Any other field is taken from the machine, else from its pool, else from here.
   * @default none
   * @example `{ role: worker, configuration: adopted, gpus: [{ model: RTX 5070 Ti }] }`
   */
  machineDefaults?: MachineDefaultsSpec;
  /**
   * Groups of machines that differ only in name and address. The key is the name of the pool.
   * @default none
   * @example `{ canary: { names: "canary-#", addresses: [10.1.0.1-10.1.0.3], role: worker, configuration: adopted,
   * talosVersion: v1.12.7 } }`
   */
  pools?: Record<string, PoolSpec>;
}
