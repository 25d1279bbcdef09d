import type { GpuRequestSpec, GpuServerSpec } from "./gpu-server";

/** A key of an existing Secret. Its content passes neither through this package nor through Pulumi's state. */
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

/** The network between the machines of one model. */
export interface FabricSpec {
  /**
   * Least bandwidth of an all-reduce over all cards of the model, in GB/s (bus bandwidth, as nccl-tests counts it). The
   * pods measure it before they load the model, and do not start the model if the bandwidth is lower.
   * @default none: the pods only log what they measure
   * @example `10`
   */
  leastBandwidth?: number;
  /**
   * Settings of NCCL and Gloo, as environment variables of every pod.
   * @default none: NCCL chooses
   * @example `{ NCCL_SOCKET_IFNAME: eth0 }`
   */
  settings?: Record<string, string>;
}

/**
 * vLLM: an OpenAI-compatible server of one model, which it splits over its GPUs by tensor parallelism, and over machines by pipeline
 * parallelism.
 */
export interface VllmSpec extends GpuRequestSpec, GpuServerSpec {
  /**
   * Model by its name on Hugging Face.
   * @example `Qwen/Qwen2.5-7B-Instruct`
   */
  model: string;
  /**
   * Machines that it is split over: each has a pod with `gpus`, a volume of its own, and cards like the others'. They are replaced
   * together. It needs LeaderWorkerSet (`leaderWorkerSet`) and vLLM 0.12 or newer.
   * @default `1`
   * @example `2`
   */
  machines?: number;
  /**
   * The network between them.
   * @default see its fields
   * @example `{ leastBandwidth: 10 }`
   */
  fabric?: FabricSpec;
  /**
   * Further arguments of `vllm serve`.
   * @default none
   * @example `[--max-model-len=8192]`
   */
  args?: string[];
  /**
   * Token for gated models. The Secret must exist first, so `namespace` must name an existing one.
   * @default none
   * @example `{ name: hugging-face, key: token }`
   */
  huggingFaceToken?: SecretKeySpec;
  /**
   * Key that clients must send. The Secret must exist first, so `namespace` must name an existing one; LiteLLM of the
   * stack needs a Secret of
   * that name in its own namespace. vLLM asks for the key only below `/v1` and at a few other paths: `/tokenize`,
   * `/metrics` and others answer without it. Use `allowFrom` with it.
   * @default none: everyone who can reach it may use it
   * @example `{ name: vllm, key: api-key }`
   */
  apiKeySecret?: SecretKeySpec;
  /**
   * Limit of `/dev/shm`, which the processes of one model share. It counts as the pod's memory once used.
   * @default `8Gi`
   * @example `16Gi`
   */
  sharedMemory?: string;
  /**
   * Container image. The registry was not asked for the default tag.
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
   * Namespace, which the workload makes if it is the default; another one must exist.
   * @default `vllm`
   * @example `ai`
   */
  namespace?: string;
}
