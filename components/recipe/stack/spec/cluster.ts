import type { DriverSpec } from "./driver";
import type { MachineDefaultsSpec, MachineEntrySpec, MachineSpec, PoolSpec } from "./machine";
import type { SharingSpec } from "./sharing";
import type { WorkloadsSpec } from "./workloads";

/** NVIDIA GPU Operator. Exclusive with `devicePlugin`. */
export interface GpuOperatorSpec {
  /**
   * Chart release.
   * @example `v25.10.1`
   */
  version: string;
  /**
   * Namespace of the release.
   * @default `gpu-operator`
   * @example `nvidia-gpu-operator`
   */
  namespace?: string;
  /**
   * Further chart values, merged over ours. A value that the chart does not have is refused.
   * @default none
   * @example `{ dcgmExporter: { enabled: false } }`
   */
  values?: Record<string, any>;
}

/**
 * NVIDIA's standalone device plugin. Exclusive with `gpuOperator`. From 1.13 on, Talos documents and tests the operator
 * alone. The plugin works there too, with what this package writes.
 */
export interface DevicePluginSpec {
  /**
   * Chart release.
   * @example `0.17.4`
   */
  version: string;
  /**
   * Namespace of the release.
   * @default `nvidia-device-plugin`
   * @example `kube-system`
   */
  namespace?: string;
  /**
   * Further chart values, merged over ours. A value that the chart does not have is refused.
   * @default none
   * @example `{ deviceIDStrategy: index }`
   */
  values?: Record<string, any>;
}

/** Metrics of the cards (DCGM exporter), for Prometheus and Grafana that are there already. */
export interface MonitoringSpec {
  /**
   * Make a ServiceMonitor. The cluster must have the Prometheus Operator's definition of it: a preview looks, and ends with
   * `servicemonitors.monitoring.coreos.com does not exist` when it is not there.
   * @default `false`
   * @example `true`
   */
  serviceMonitor?: boolean;
  /**
   * Make a ConfigMap with a Grafana dashboard, which the sidecar of Grafana's chart loads by its label.
   * @default `true`
   * @example `false`
   */
  dashboard?: boolean;
  /**
   * Namespace of the dashboard; it must exist.
   * @default the release's, which Grafana's sidecar reads when it searches all
   * @example `monitoring`
   */
  namespace?: string;
  /**
   * Further labels of the ServiceMonitor, by which Prometheus selects it.
   * @default none
   * @example `{ release: kube-prometheus-stack }`
   */
  labels?: Record<string, string>;
}

/**
 * Images that this package itself runs on GPU nodes. Name others to use a mirror. Nobody has verified that the default tags are
 * served: this package asks no registry.
 */
export interface ImagesSpec {
  /**
   * Of the validation markers; any with sh, cmp and cp. That the default's tag is served is not verified.
   * @default `busybox:1.37`
   * @example `registry.example.org/busybox:1.37`
   */
  validationMarkers?: string;
  /**
   * Of the power limit; any with bash, awk and glibc. That the default's tag is served is not verified.
   * @default `ubuntu:24.04`
   * @example `registry.example.org/ubuntu:24.04`
   */
  powerLimit?: string;
  /**
   * Of the DCGM exporter beside the device plugin. That the default's tag is served is not verified.
   * @default `nvcr.io/nvidia/k8s/dcgm-exporter` as GPU Operator v26.3.3 has it
   * @example `registry.example.org/dcgm-exporter:4.5.3-4.8.2-distroless`
   */
  dcgmExporter?: string;
}

/** How machines are brought to the wanted image. */
export interface UpgradeSpec {
  /**
   * Workers that go ahead, one at a time in this order, after the control planes. Each must have a GPU. What offers the GPUs
   * is installed after them. The other workers start once every smoke test of those ahead has passed; a test that finds no free
   * unit within `timeouts.gate` has not passed.
   * @default none: what offers the GPUs comes after all machines
   * @example `[gpu-1]`
   */
  first?: string[];
  /**
   * Workers that may be upgraded at a time, as a number or as a share of all workers (`25%`, rounded down, one at least).
   * Control planes always go one at a time, first.
   * @default `1`
   * @example `4`
   */
  maxParallel?: any;
  /**
   * Evict pods before the reboot. A cluster of one node has nowhere to go and is not drained.
   * @default `true`
   * @example `false`
   */
  drain?: boolean;
}

/** Limits of the waits, as durations like `10m`, `90s`. */
export interface TimeoutsSpec {
  /**
   * For a machine to pull its installer image.
   * @default `10m`
   * @example `20m`
   */
  pull?: string;
  /**
   * For the pods of a machine to leave it.
   * @default `5m`
   * @example `15m`
   */
  drain?: string;
  /**
   * For a machine to install the wanted image and reboot into it.
   * @default `30m`
   * @example `45m`
   */
  reboot?: string;
  /**
   * For modules, driver and extension services to come up after the reboot.
   * @default `5m`
   * @example `10m`
   */
  verify?: string;
  /**
   * For the objects of the Helm release to become ready.
   * @default `10m`
   * @example `20m`
   */
  release?: string;
  /**
   * For the smoke test of a machine to pass.
   * @default `10m`
   * @example `20m`
   */
  gate?: string;
  /**
   * For a workload to become ready.
   * @default `20m`
   * @example `1h`
   */
  workload?: string;
}

/**
 * What a Talos release brings that the tables do not know yet. The stacks' program asks the Image Factory for it once per
 * preview; a program of one's own takes it from `GpuCluster.withFacts`; where no Factory can be asked, the stack may say it.
 */
export interface ReleaseFactsSpec {
  /**
   * Release that this is about. Facts about another release than the stack's have no effect.
   * @example `v1.13.10`
   */
  talosVersion: string;
  /**
   * Driver of the branch `lts`.
   * @default unknown
   * @example `580.178.04`
   */
  lts?: string;
  /**
   * Driver of the branch `production`.
   * @default unknown
   * @example `595.91.07`
   */
  production?: string;
  /**
   * NVIDIA container toolkit.
   * @default unknown
   * @example `1.19.1`
   */
  toolkit?: string;
  /**
   * Names of its official extensions.
   * @default unknown
   * @example `[siderolabs/iscsi-tools]`
   */
  extensions?: string[];
  /**
   * The Factory has no such release.
   * @default `false`
   * @example `true`
   */
  missing?: boolean;
  /**
   * Why the Factory gave no answer; drivers are assumed then.
   * @default it answered
   * @example `connect ECONNREFUSED`
   */
  silent?: string;
}

/** What a stack says of its cluster, besides its machines. */
export interface ClusterOptionsSpec {
  /**
   * Talos release that the machines shall run.
   * @example `v1.12.6`
   * @causes one reboot of each machine that runs another release
   */
  talosVersion: string;
  /**
   * Kubernetes release of owned machines. Required with an owned machine.
   * @default none
   * @example `v1.35.0`
   * @causes another configuration of owned machines, which a GPU machine takes with one reboot
   */
  kubernetesVersion?: string;
  /**
   * What a release brings that is newer than the tables.
   * @default what the tables or the Image Factory say
   * @example `{ talosVersion: v1.13.10, production: 595.91.07 }`
   */
  releaseFacts?: ReleaseFactsSpec;
  /**
   * The same of further releases, which machines or pools have of their own.
   * @default what the tables or the Image Factory say
   * @example `[{ talosVersion: v1.13.11, production: 595.99.10 }]`
   */
  otherReleaseFacts?: ReleaseFactsSpec[];
  /**
   * Name of the Talos cluster. Required with an owned machine, and with one of Omni's: its name there.
   * @default none
   * @example `home`
   * @causes another configuration of owned machines, which a GPU machine takes with one reboot
   */
  clusterName?: string;
  /**
   * URL of the Kubernetes API. Required with an owned machine.
   * @default none
   * @example `https://10.0.10.10:6443`
   * @causes another configuration of owned machines, which a GPU machine takes with one reboot
   */
  clusterEndpoint?: string;
  /**
   * Make the cluster. Its machines wait in maintenance mode. The first update makes the secrets, installs Talos with the wanted
   * image, bootstraps etcd on the first control plane by name, and fetches the kubeconfig. Leave it `true` afterwards: the stack
   * holds the secrets and the way to the cluster. Every machine must be owned, and at least one must be a control plane.
   * @default `false`: the cluster is there
   * @example `true`
   */
  bootstrap?: boolean;
  /**
   * Patches of every machine (YAML text), e.g. a registry mirror. Containerd parts are refused here.
   * @default none
   * @example `["machine: { sysctls: { vm.nr_hugepages: '1024' } }"]`
   * @causes another configuration, which a GPU machine takes with one reboot
   */
  patches?: string[];
  /**
   * NVIDIA driver of the machines.
   * @default see its fields
   * @example `{ branch: lts }`
   */
  driver?: DriverSpec;
  /**
   * Expose the GPUs by NVIDIA's GPU Operator. Exactly one of this and `devicePlugin`.
   * @default none
   * @example `{ version: v25.10.1 }`
   */
  gpuOperator?: GpuOperatorSpec;
  /**
   * Expose the GPUs by NVIDIA's standalone device plugin. Exactly one of this and `gpuOperator`.
   * @default none
   * @example `{ version: 0.17.4 }`
   */
  devicePlugin?: DevicePluginSpec;
  /**
   * Sharing or partitioning of the cards; at most one kind.
   * @default none
   * @example `{ timeSlicing: { replicas: 4 } }`
   */
  sharing?: SharingSpec;
  /**
   * Metrics of the cards.
   * @default none but what the GPU Operator exports by itself
   * @example `{ serviceMonitor: true }`
   */
  monitoring?: MonitoringSpec;
  /**
   * What runs on the GPUs.
   * @default nothing
   * @example `{ ollama: { models: [llama3.2:3b] } }`
   */
  workloads?: WorkloadsSpec;
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
   * Change this text, and the next update looks at every machine, its node, the release and every object of the stack. It
   * puts right what somebody changed by hand, and leaves alone what is as planned. Any text will do; a date says most. While
   * the text stays the same, an update trusts the state of the update before.
   * @default none
   * @example `2026-11-22`
   * @causes a look at every machine, and the reboot of one that runs another image or has another configuration staged
   */
  lookAgain?: string;
  /**
   * Image Factory, asked for schematics; the installer images come from it too.
   * @default `https://factory.talos.dev`
   * @example `https://factory.example.org`
   * @causes another configuration, which a GPU machine takes with one reboot
   */
  factoryUrl?: string;
  /**
   * Image of the smoke test. With MIG's strategy `single` the image also needs `sh` and `grep`, which look for the slice before
   * the test. The default is not verified on Blackwell: the sample of CUDA 12.5 holds no code for it, so the driver has to
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
   * What every machine has, unless its pool or the machine itself says something else. Any field of a machine but `address`
   * and `uuid`. Labels, taints, containerd's options and the driver are merged key by key; any other field is taken from the
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
