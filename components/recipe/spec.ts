/**
 * What a stack says: plain data, no Pulumi. The stack file, the component's arguments and the pure recipe all use these
 * types, so they keep to what Pulumi's schema analyzer accepts (interfaces of data, `as const` enums, no unions).
 * They are plain values and not `Input`s on purpose: the checks must see all of them at preview.
 */

/** Role of a machine in its cluster. Control planes are upgraded one at a time. */
export const MachineRole = { controlplane: "controlplane", worker: "worker" } as const;
export type MachineRole = (typeof MachineRole)[keyof typeof MachineRole];

/**
 * Who holds a machine's configuration: `owned` (this stack, all of it), `adopted` (somebody else; we merge by key and
 * remember what we added), `omni` (Omni; we give it patches and extensions of the one machine, and it makes the image,
 * upgrades and reboots).
 */
export const ConfigurationOwner = { owned: "owned", adopted: "adopted", omni: "omni" } as const;
export type ConfigurationOwner = (typeof ConfigurationOwner)[keyof typeof ConfigurationOwner];

/** Branch of NVIDIA's driver as Talos' extensions name it. On Talos 1.12 `lts` is newer than `production`. */
export const DriverBranch = { lts: "lts", production: "production" } as const;
export type DriverBranch = (typeof DriverBranch)[keyof typeof DriverBranch];

/** Flavour of the kernel modules: `open` (Turing and newer; the only one for Blackwell) or `proprietary`. */
export const ModuleFlavour = { open: "open", proprietary: "proprietary" } as const;
export type ModuleFlavour = (typeof ModuleFlavour)[keyof typeof ModuleFlavour];

/** How ollama's models are pulled: `job` (after the server runs) or `postStart` (refused on Talos ≤ 1.12). */
export const ModelPull = { job: "job", postStart: "postStart" } as const;
export type ModelPull = (typeof ModelPull)[keyof typeof ModelPull];

/** How MIG devices appear: `single` as `nvidia.com/gpu`, `mixed` as `nvidia.com/mig-<profile>`. */
export const MigStrategy = { single: "single", mixed: "mixed" } as const;
export type MigStrategy = (typeof MigStrategy)[keyof typeof MigStrategy];

/** A kind of card in a machine. */
export interface GpuSpec {
  /** Marketing name as NVIDIA prints it, without vendor and family, e.g. `RTX 5070 Ti`, `H100 NVL`. */
  model: string;
  /** Number of such cards in the machine. Default 1. */
  count?: number;
}

/** One Talos machine. Its key in `machines` is its node name. */
export interface MachineSpec {
  /** Address of the machine's Talos API: IP or host name. */
  address: string;
  /** `controlplane` or `worker`. */
  role: MachineRole;
  /** Who holds its configuration: `owned`, `adopted` or `omni`. */
  configuration: ConfigurationOwner;
  /** ID of the machine in Omni, which is the UUID of its hardware (`omnictl get machines`). Required with `omni`, and only there. */
  uuid?: string;
  /** Cards in the machine. Empty or absent: not a GPU machine; it gets no NVIDIA extension. */
  gpus?: GpuSpec[];
  /** Further official extensions, e.g. `siderolabs/iscsi-tools`. NVIDIA's follow from the card and the driver. */
  extensions?: string[];
  /** Further kernel arguments of the image. Default none. */
  kernelArgs?: string[];
  /** Image Factory platform of the installer, e.g. `metal`, `nocloud`. Default `metal`. */
  platform?: string;
  /** Whether the machine boots with Secure Boot. Default false. */
  secureBoot?: boolean;
  /** Further strategic-merge patches of this machine (YAML text), applied before ours. Nothing secret belongs here. */
  patches?: string[];
  /** Further node labels. */
  labels?: Record<string, string>;
  /** Node taints: key to `value:Effect` (or `:Effect`), e.g. `gpu: "true:NoSchedule"`. */
  taints?: Record<string, string>;
  /** Power limit of every card of the machine in watts. Default: the card's own. */
  powerLimit?: number;
  /** Release the machine runs today, e.g. `v1.11.5`; lets preview refuse a jump over a minor. Default unknown (the upgrade program checks). */
  runningVersion?: string;
  /** Sets one containerd option each; all end in the machine's single containerd part. */
  containerd?: ContainerdSpec;
}

/** Options of the machine's containerd part, `/etc/cri/conf.d/20-customization.part`. */
export interface ContainerdSpec {
  /** Make `nvidia` the default runtime. Default false: CUDA images would give GPUs to pods that request none. */
  nvidiaDefaultRuntime?: boolean;
  /** Give the nvidia runtime Talos' base OCI specification. Default false. */
  baseRuntimeSpec?: boolean;
  /** CDI directories. Default none (Talos' own). On Talos ≥ 1.13 they are added to `/run/cdi`, before to containerd's own. */
  cdiSpecDirs?: string[];
  /** Further TOML of the part; no `version` key. Default none. */
  extra?: string;
}

/** NVIDIA driver of the cluster. */
export interface DriverSpec {
  /** Default `production`, or `lts` where the card or the release asks for it. */
  branch?: DriverBranch;
  /** Default follows from the card: `open` from Turing on, `proprietary` before. */
  flavour?: ModuleFlavour;
}

/** GPU sharing by time slicing. */
export interface TimeSlicingSpec {
  /** Replicas per card, at least 2. */
  replicas: number;
  /** Offer the slices as `nvidia.com/gpu.shared`. Default false. */
  renameByDefault?: boolean;
}

/** GPU sharing by MPS. */
export interface MpsSpec {
  /** Replicas per card, at least 2. */
  replicas: number;
}

/** Partitioning by MIG. */
export interface MigSpec {
  strategy: MigStrategy;
  /** Profile of every card, e.g. `1g.12gb`, or `all-balanced`, `all-disabled`. */
  profile: string;
}

/** Sharing or partitioning of the cards; at most one. Default none. */
export interface SharingSpec {
  timeSlicing?: TimeSlicingSpec;
  mps?: MpsSpec;
  mig?: MigSpec;
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
 * NVIDIA's standalone device plugin. Exclusive with `gpuOperator`. For Talos ≤ 1.12; from 1.13 on it is refused unless
 * `values.deviceListStrategy` says how it shall hand out devices there.
 */
export interface DevicePluginSpec {
  /** Chart release, e.g. `0.17.4`. */
  version: string;
  /** Default `nvidia-device-plugin`. */
  namespace?: string;
  /** Further chart values, merged over ours. A value that the chart does not have is refused. */
  values?: Record<string, any>;
}

/** Ollama. */
export interface OllamaSpec {
  /** Whether it runs. Default true; see ComfyUI. */
  active?: boolean;
  /** Models to pull, e.g. `llama3.2:3b`. Default none. */
  models?: string[];
  /** Default `job`. */
  pullBy?: ModelPull;
  /** Image. Default `ollama/ollama` of a release pinned by this package; that the tag is served is not verified. */
  image?: string;
  /** Image of the Jobs that pull the models; any with sh, curl and grep. Not verified; default `curlimages/curl:8.16.0`. */
  pullImage?: string;
  /** Size of the volume for models. Default `30Gi`. */
  storage?: string;
  /** StorageClass of the volume. Default: the cluster's. */
  storageClass?: string;
  /** GPUs it requests. Default 1. */
  gpus?: number;
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: the smallest that the cards have. */
  migProfile?: string;
  /** Default `ollama`. */
  namespace?: string;
}

/** ComfyUI. */
export interface ComfyUiSpec {
  /** Whether it runs. Default true. Where one card serves several workloads in turn, all but one are `false`: kept, with no replicas. */
  active?: boolean;
  /** Image. Default `yanwk/comfyui-boot` for the driver's CUDA; that the tag is served is not verified. */
  image?: string;
  /** Size of the volume for models and outputs. Default `50Gi`. */
  storage?: string;
  /** StorageClass of the volume. Default: the cluster's. */
  storageClass?: string;
  /** GPUs it requests. Default 1. */
  gpus?: number;
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: the smallest that the cards have. */
  migProfile?: string;
  /** Default `comfyui`. */
  namespace?: string;
}

/** LiteLLM: one OpenAI-compatible endpoint in front of ollama's models. Needs no GPU. */
export interface LiteLlmSpec {
  /** Whether it runs. Default true; see ComfyUI. */
  active?: boolean;
  /** Image. Default `ghcr.io/berriai/litellm` of a release pinned by this package; that the tag is served is not verified. */
  image?: string;
  /** Secret in its namespace with the key `LITELLM_MASTER_KEY`, which clients must then send. It must exist. Default none: open to the cluster. */
  masterKeySecret?: string;
  /** Default `litellm`; made by a cluster unless a `masterKeySecret` is named, which must be there before. */
  namespace?: string;
}

/** A key of a Secret that is there already. Its content passes neither through this package nor through Pulumi's state. */
export interface SecretKeySpec {
  /** Name of the Secret, in the workload's namespace. */
  name: string;
  /** Key of its data. */
  key: string;
}

/** vLLM: an OpenAI-compatible server of one model. */
export interface VllmSpec {
  /** Model by its name on Hugging Face, e.g. `Qwen/Qwen2.5-7B-Instruct`. */
  model: string;
  /** Whether it runs. Default true; see ComfyUI. */
  active?: boolean;
  /** GPUs it requests, and splits the model over by tensor parallelism. Default 1. */
  gpus?: number;
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: the smallest that the cards have. */
  migProfile?: string;
  /** Further arguments of `vllm serve`, e.g. `--max-model-len=8192`. */
  args?: string[];
  /** Token for gated models. The Secret must be there first, so `namespace` must name an existing one. Default none. */
  huggingFaceToken?: SecretKeySpec;
  /** Limit of `/dev/shm`, which the processes of one model share. It counts as the pod's memory once used. Default `8Gi`. */
  sharedMemory?: string;
  /** Image. Default `vllm/vllm-openai` of a release that the driver's CUDA runs; that the tag is served is not verified. */
  image?: string;
  /** Size of the volume for downloaded models and compiled graphs. Default `100Gi`. */
  storage?: string;
  /** StorageClass of the volume. Default: the cluster's. */
  storageClass?: string;
  /** Default `vllm`, which the workload makes; another one must exist. */
  namespace?: string;
}

/** A pod of the user's own that requests GPUs. */
export interface GpuPodSpec {
  /** Image, e.g. `nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04`. */
  image: string;
  /** Command. Default: the image's. */
  command?: string[];
  /** Arguments of the command. Default: the image's. */
  args?: string[];
  /** Environment. `NVIDIA_VISIBLE_DEVICES` is refused: it would override the device plugin's. */
  env?: Record<string, string>;
  /** GPUs it requests. Default 1. */
  gpus?: number;
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: the smallest that the cards have. */
  migProfile?: string;
  /** Default `gpu-pods`, which a cluster makes; another one must exist. */
  namespace?: string;
  /** Further node selector. */
  nodeSelector?: Record<string, string>;
  /** Further limits, e.g. `{"cpu": "1", "memory": "1Gi"}`. Default none. */
  limits?: Record<string, string>;
  /** Run as user 65534 on a read-only root, as Pod Security `restricted` asks. Default false: many images want root, or write beside their program. */
  restricted?: boolean;
}

/** What runs on the GPUs. */
export interface WorkloadsSpec {
  ollama?: OllamaSpec;
  comfyui?: ComfyUiSpec;
  /** Routes requests to `ollama`, which it needs. */
  litellm?: LiteLlmSpec;
  vllm?: VllmSpec;
  /** Pods by name. */
  pods?: Record<string, GpuPodSpec>;
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

/** A GPU cluster: what one stack provisions. */
export interface ClusterSpec {
  /** Talos release that the machines shall run, e.g. `v1.12.6`. */
  talosVersion: string;
  /** Kubernetes release of owned machines, e.g. `v1.35.0`. Required with an owned machine. */
  kubernetesVersion?: string;
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
   */
  smokeTestImage?: string;
  /** Images of what this package itself runs on GPU nodes. Default: see its fields. */
  images?: ImagesSpec;
  /** Fixes to leave out, by name (`npm run lab -- --list-fixes`): to see what they are for, or where a release no longer needs one. */
  without?: string[];
  /**
   * Apply the stack although checks complain, to see the failure that a check stands for. An escape hatch for looking at
   * failures in the lab; it makes nothing work. Mistakes of shape are refused all the same. Default false.
   */
  skipChecks?: boolean;
}
