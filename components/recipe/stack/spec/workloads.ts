/** How ollama's models are pulled: `job` (after the server runs) or `postStart` (refused on Talos ≤ 1.12). */
export const ModelPull = { job: "job", postStart: "postStart" } as const;
export type ModelPull = (typeof ModelPull)[keyof typeof ModelPull];

/** Ollama. */
export interface OllamaSpec {
  /**
   * Whether it runs. `false` keeps it, with no replicas, so that several workloads can take turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Models to pull.
   * @default none
   * @example `[llama3.2:3b]`
   */
  models?: string[];
  /**
   * How models are pulled: by a Job once the server runs, or by its `postStart` hook (refused on Talos ≤ 1.12).
   * @default `job`
   * @example `postStart`
   */
  pullBy?: ModelPull;
  /**
   * Image. That the default's tag is served is not verified.
   * @default `ollama/ollama` of a release pinned by this package
   * @example `ollama/ollama:0.32.15`
   */
  image?: string;
  /**
   * Image of the Jobs that pull the models; any with sh, curl and grep. That the default's tag is served is not verified.
   * @default `curlimages/curl:8.16.0`
   * @example `curlimages/curl:8.16.0`
   */
  pullImage?: string;
  /**
   * Size of the volume for models.
   * @default `30Gi`
   * @example `100Gi`
   */
  storage?: string;
  /**
   * StorageClass of the volume.
   * @default the cluster's
   * @example `local-path`
   */
  storageClass?: string;
  /**
   * GPUs that it requests.
   * @default `1`
   * @example `2`
   */
  gpus?: number;
  /**
   * With mixed MIG, the profile of the devices that it requests.
   * @default whole cards where a machine offers some, else the smallest devices
   * @example `1g.12gb`
   */
  migProfile?: string;
  /**
   * Namespace, which the workload makes.
   * @default `ollama`
   * @example `ai`
   */
  namespace?: string;
}

/** ComfyUI. */
export interface ComfyUiSpec {
  /**
   * Whether it runs. `false` keeps it, with no replicas, so that several workloads can take turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Image. That the default's tag is served is not verified.
   * @default `yanwk/comfyui-boot` for the driver's CUDA
   * @example `yanwk/comfyui-boot:cu128-slim`
   */
  image?: string;
  /**
   * Size of the volume for models and outputs.
   * @default `50Gi`
   * @example `200Gi`
   */
  storage?: string;
  /**
   * StorageClass of the volume.
   * @default the cluster's
   * @example `local-path`
   */
  storageClass?: string;
  /**
   * GPUs that it requests.
   * @default `1`
   * @example `2`
   */
  gpus?: number;
  /**
   * With mixed MIG, the profile of the devices that it requests.
   * @default whole cards where a machine offers some, else the smallest devices
   * @example `1g.12gb`
   */
  migProfile?: string;
  /**
   * Namespace, which the workload makes.
   * @default `comfyui`
   * @example `ai`
   */
  namespace?: string;
}

/** LiteLLM: one OpenAI-compatible endpoint in front of ollama's models. Needs no GPU. */
export interface LiteLlmSpec {
  /**
   * Whether it runs. `false` keeps it, with no replicas.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Image. That the default's tag is served is not verified.
   * @default `ghcr.io/berriai/litellm` of a release pinned by this package
   * @example `ghcr.io/berriai/litellm:v1.89.4`
   */
  image?: string;
  /**
   * Secret in its namespace with the key `LITELLM_MASTER_KEY`, which clients must then send. It must exist.
   * @default none: open to the cluster
   * @example `litellm-key`
   */
  masterKeySecret?: string;
  /**
   * Namespace. A cluster makes it unless a `masterKeySecret` is named, which must be there before.
   * @default `litellm`
   * @example `ai`
   */
  namespace?: string;
}

/** A key of a Secret that is there already. Its content passes neither through this package nor through Pulumi's state. */
export interface SecretKeySpec {
  /**
   * Name of the Secret, in the workload's namespace.
   * @example `hugging-face`
   */
  name: string;
  /**
   * Key of its data.
   * @example `token`
   */
  key: string;
}

/** vLLM: an OpenAI-compatible server of one model. */
export interface VllmSpec {
  /**
   * Model by its name on Hugging Face.
   * @example `Qwen/Qwen2.5-7B-Instruct`
   */
  model: string;
  /**
   * Whether it runs. `false` keeps it, with no replicas, so that several workloads can take turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * GPUs that it requests, and splits the model over by tensor parallelism.
   * @default `1`
   * @example `2`
   */
  gpus?: number;
  /**
   * With mixed MIG, the profile of the devices that it requests.
   * @default whole cards where a machine offers some, else the smallest devices
   * @example `1g.12gb`
   */
  migProfile?: string;
  /**
   * Further arguments of `vllm serve`.
   * @default none
   * @example `[--max-model-len=8192]`
   */
  args?: string[];
  /**
   * Token for gated models. The Secret must be there first, so `namespace` must name an existing one.
   * @default none
   * @example `{ name: hugging-face, key: token }`
   */
  huggingFaceToken?: SecretKeySpec;
  /**
   * Limit of `/dev/shm`, which the processes of one model share. It counts as the pod's memory once used.
   * @default `8Gi`
   * @example `16Gi`
   */
  sharedMemory?: string;
  /**
   * Image. That the default's tag is served is not verified.
   * @default `vllm/vllm-openai` of a release that the driver's CUDA runs
   * @example `vllm/vllm-openai:v0.11.0`
   */
  image?: string;
  /**
   * Size of the volume for downloaded models and compiled graphs.
   * @default `100Gi`
   * @example `200Gi`
   */
  storage?: string;
  /**
   * StorageClass of the volume.
   * @default the cluster's
   * @example `local-path`
   */
  storageClass?: string;
  /**
   * Namespace, which the workload makes if it is the default; another one must exist.
   * @default `vllm`
   * @example `ai`
   */
  namespace?: string;
}

/** A pod of the user's own that requests GPUs. */
export interface GpuPodSpec {
  /**
   * Image.
   * @example `nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04`
   */
  image: string;
  /**
   * Command.
   * @default the image's
   * @example `[nvidia-smi]`
   */
  command?: string[];
  /**
   * Arguments of the command.
   * @default the image's
   * @example `[--list-gpus]`
   */
  args?: string[];
  /**
   * Environment. `NVIDIA_VISIBLE_DEVICES` is refused: it would override the device plugin's.
   * @default none
   * @example `{ HF_HOME: /models }`
   */
  env?: Record<string, string>;
  /**
   * GPUs that it requests.
   * @default `1`
   * @example `2`
   */
  gpus?: number;
  /**
   * With mixed MIG, the profile of the devices that it requests.
   * @default whole cards where a machine offers some, else the smallest devices
   * @example `1g.12gb`
   */
  migProfile?: string;
  /**
   * Namespace, which a cluster makes if it is the default; another one must exist.
   * @default `gpu-pods`
   * @example `ai`
   */
  namespace?: string;
  /**
   * Further node selector.
   * @default none
   * @example `{ rack: b2 }`
   */
  nodeSelector?: Record<string, string>;
  /**
   * Further limits.
   * @default none
   * @example `{ cpu: "1", memory: 1Gi }`
   */
  limits?: Record<string, string>;
  /**
   * Run as user 65534 on a read-only root, as Pod Security `restricted` asks. Many images want root, or write beside their
   * program.
   * @default `false`
   * @example `true`
   */
  restricted?: boolean;
}

/** What runs on the GPUs. */
export interface WorkloadsSpec {
  /**
   * Ollama, a server of language models.
   * @default none
   * @example `{ models: [llama3.2:3b] }`
   */
  ollama?: OllamaSpec;
  /**
   * ComfyUI, which makes pictures.
   * @default none
   * @example `{ storage: 200Gi }`
   */
  comfyui?: ComfyUiSpec;
  /**
   * LiteLLM. It routes requests to `ollama`, which it needs.
   * @default none
   * @example `{ masterKeySecret: litellm-key }`
   */
  litellm?: LiteLlmSpec;
  /**
   * An OpenAI-compatible server of one language model, by vLLM.
   * @default none
   * @example `{ model: Qwen/Qwen2.5-7B-Instruct }`
   */
  vllm?: VllmSpec;
  /**
   * Pods by name.
   * @default none
   * @example `{ nvidia-test: { image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", command: [nvidia-smi] } }`
   */
  pods?: Record<string, GpuPodSpec>;
}
