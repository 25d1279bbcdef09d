/** How ollama's models are pulled: `job` (after the server runs) or `postStart` (refused on Talos ≤ 1.12). */
export const ModelPull = { job: "job", postStart: "postStart" } as const;
export type ModelPull = (typeof ModelPull)[keyof typeof ModelPull];

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
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: whole cards where a machine offers some, else the smallest devices. */
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
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: whole cards where a machine offers some, else the smallest devices. */
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
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: whole cards where a machine offers some, else the smallest devices. */
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
  /** With mixed MIG, the profile of the devices it requests, e.g. `1g.12gb`. Default: whole cards where a machine offers some, else the smallest devices. */
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
