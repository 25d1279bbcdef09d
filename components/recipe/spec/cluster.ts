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

/** Fields of the cluster that a stack sets, and that a `GpuMachine` without a `GpuCluster` sets, too. */
export interface AroundMachinesSpec {
  /**
   * Talos release that the machines should run, of the minors 1.8 to 1.15.
   * @example `v1.12.6`
   * @causes one reboot of each machine that runs another release
   */
  talosVersion: string;
  /**
   * Kubernetes release of owned machines. Required with an owned machine. With an owned control plane, one minor release forward at a
   * time; afterwards `talosctl upgrade-k8s` updates kube-proxy and CoreDNS, which a new configuration leaves as they are.
   * @default none
   * @example `v1.35.0`
   * @causes a new configuration of owned machines; one reboot of those with a GPU on Talos 1.13 and older
   */
  kubernetesVersion?: string;
  /**
   * Drivers, toolkit and extensions of the stack's Talos release, where it is newer than the package's tables.
   * @default by the tables or the Image Factory
   * @example `{ talosVersion: v1.13.10, production: 595.91.07 }`
   */
  releaseFacts?: ReleaseFactsSpec;
  /**
   * Name of the Talos cluster. Required with an owned machine, and with a machine of Omni's: there it is the cluster's
   * name in Omni.
   * @default none
   * @example `home`
   * @causes a new configuration of owned machines; one reboot of those with a GPU on Talos 1.13 and older
   */
  clusterName?: string;
  /**
   * URL of the Kubernetes API. Required with an owned machine.
   * @default none
   * @example `https://10.0.10.10:6443`
   * @causes a new configuration of owned machines; one reboot of those with a GPU on Talos 1.13 and older
   */
  clusterEndpoint?: string;
  /**
   * NVIDIA driver of the machines.
   * @default see its fields
   * @example `{ branch: lts }`
   */
  driver?: DriverSpec;
  /**
   * Expose the GPUs by NVIDIA's GPU Operator. Exactly one of this, `devicePlugin`, `dra` and `external`.
   * @default none
   * @example `{ version: v25.10.1 }`
   */
  gpuOperator?: GpuOperatorSpec;
  /**
   * Expose the GPUs by NVIDIA's standalone device plugin. Exactly one of this, `gpuOperator`, `dra` and `external`.
   * @default none
   * @example `{ version: 0.17.4 }`
   */
  devicePlugin?: DevicePluginSpec;
  /**
   * Give the GPUs to claims by NVIDIA's driver for dynamic resource allocation. Exactly one of this, `gpuOperator`, `devicePlugin` and
   * `external`.
   * @default none
   * @example `{ version: 0.5.0 }`
   */
  dra?: DraSpec;
  /**
   * Another tool, such as Flux or Argo CD, installs the GPU provider. Exactly one of this, `gpuOperator`,
   * `devicePlugin` and `dra`.
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
   * How machines are brought to the wanted image.
   * @default see its fields
   * @example `{ maxParallel: 4 }`
   */
  upgrade?: UpgradeSpec;
  /**
   * Limits of the waits.
   * @default see its fields
   * @example `{ reboot: 45m }`
   */
  timeouts?: TimeoutsSpec;
  /**
   * Change this text, and the next update inspects every machine, its node, the release and every object of the stack.
   * It restores what was changed by hand, and leaves the rest alone. Any text will do, for example today's date. While
   * the text stays the same, an update trusts the state of the last update.
   * @default none
   * @example `2026-11-22`
   * @causes an inspection of every machine, and a reboot of each whose image or staged configuration differs from the stack
   */
  reconcileToken?: string;
  /**
   * Image Factory, asked for schematics; the installer images come from it too.
   * @default `https://factory.talos.dev`
   * @example `https://factory.example.org`
   * @causes no reboot by itself: the next upgrade takes its installer
   */
  factoryUrl?: string;
}

/** What a stack says of its cluster, besides its machines. */
export interface ClusterOptionsSpec extends AroundMachinesSpec {
  /**
   * Drivers, toolkit and extensions of other Talos releases that machines or pools have (`talosVersion`), as in
   * `releaseFacts`.
   * @default by the tables or the Image Factory
   * @example `[{ talosVersion: v1.13.11, production: 595.99.10 }]`
   */
  otherReleaseFacts?: ReleaseFactsSpec[];
  /**
   * Make the cluster. Its machines wait in maintenance mode. The first update makes the secrets, installs Talos with the wanted
   * image, bootstraps etcd on the first control plane by name, and fetches the kubeconfig. Leave it `true` afterwards: the stack
   * holds the secrets and the way to the cluster. Every machine must be owned, and at least one must be a control plane. The
   * machines must have started from a boot medium of Talos 1.13 or newer, whatever release the stack installs.
   * @default `false`: the cluster exists
   * @example `true`
   */
  bootstrap?: boolean;
  /**
   * Patches of every machine (YAML text), e.g. a registry mirror. Containerd parts are refused here.
   * @default none
   * @example `["machine: { sysctls: { vm.nr_hugepages: '1024' } }"]`
   * @causes a new configuration; one reboot of each GPU machine on Talos 1.13 and older, on newer releases only for
   *   changed modules and files
   */
  patches?: string[];
  /**
   * Metrics of the cards.
   * @default none but what the GPU Operator exports by itself
   * @example `{ serviceMonitor: true }`
   */
  monitoring?: MonitoringSpec;
  /**
   * Install LeaderWorkerSet, which a workload over several machines needs (`workloads.vllm.machines`).
   * @default none: if a workload needs it, another tool has installed it
   * @example `{ version: 0.9.0 }`
   */
  leaderWorkerSet?: LeaderWorkerSetSpec;
  /**
   * What runs on the GPUs.
   * @default nothing
   * @example `{ ollama: { models: [llama3.2:3b] } }`
   */
  workloads?: WorkloadsSpec;
  /**
   * Machines that are away (`mayBeAway`): an update skips them.
   * @default the machines that the program of the stacks finds offline
   * @example `[gpu-3]`
   */
  away?: string[];
  /**
   * Image of the smoke test, which also needs `sh`: a second container requests no card and checks that it sees none.
   * With MIG's strategy
   * `single` it needs `grep`, too, which looks for the slice before the test. The default is not verified on Blackwell: the sample of CUDA 12.5 holds no code for it, so the driver has to
   * compile some.
   * @default a CUDA sample that the driver can run
   * @example `nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0`
   */
  smokeTestImage?: string;
  /**
   * Images of what this package itself runs on GPU nodes.
   * @default see its fields
   * @example `{ powerLimit: registry.example.org/ubuntu:24.04 }`
   */
  images?: ImagesSpec;
}

/** A GPU cluster with all its machines: what one stack provisions. */
export interface ClusterSpec extends ClusterOptionsSpec {
  /**
   * Machines by node name.
   * @example `{ gpu-1: { address: 192.168.1.224, role: worker, configuration: adopted, gpus: [{ model: RTX 5070 Ti }] } }`
   */
  machines: Record<string, MachineSpec>;
}

/** A stack as it is written. Its pools become machines before anything else is looked at. */
export interface StackSpec extends ClusterOptionsSpec {
  /**
   * Machines by node name.
   * @default none but the pools'
   * @example `{ gpu-1: { address: 192.168.1.224, role: worker, configuration: adopted, gpus: [{ model: RTX 5070 Ti }] } }`
   */
  machines?: Record<string, MachineEntrySpec>;
  /**
   * Fields of every machine, unless its pool or the machine itself sets them. Any field of a machine but `address` and
   * `uuid`. Labels, taints, containerd's options and the driver are merged key by key; any other field is taken from
   * the
   * machine, else from its pool, else from here.
   * @default none
   * @example `{ role: worker, configuration: adopted, gpus: [{ model: RTX 5070 Ti }] }`
   */
  machineDefaults?: MachineDefaultsSpec;
  /**
   * Machines that are alike, by the name of their pool.
   * @default none
   * @example `{ canary: { names: "canary-#", addresses: [10.1.0.1-10.1.0.3], role: worker, configuration: adopted, talosVersion: v1.12.7 } }`
   */
  pools?: Record<string, PoolSpec>;
}
