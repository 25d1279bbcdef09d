import type { GpuRequestSpec, GpuServerSpec } from "./gpu-server";

/**
 * A key of an existing Secret. The content of the Secret passes neither through this package nor through Pulumi's
 * state.
 */
export interface SecretKeySpec {
  /**
   * Name of the Secret, in the workload's namespace.
   * @example `hugging-face`
   */
  name: string;
  /**
   * Key in the Secret's data.
   * @example `token`
   */
  key: string;
}

/** The network between the machines of one model. */
export interface FabricSpec {
  /**
   * Minimum bandwidth of an all-reduce over all cards of the model, in GB/s (bus bandwidth as in nccl-tests). The pods
   * measure it before they load the model, and do not start the model if the bandwidth is lower.
   * @default none: the pods only log what they measure
   * @example `10`
   */
  leastBandwidth?: number;
  /**
   * Environment variables of NCCL and Gloo (`NCCL_…`, `GLOO_…`), which every pod gets.
   * @default none
   * @example `{ NCCL_SOCKET_IFNAME: eth0 }`
   */
  settings?: Record<string, string>;
}

/**
 * vLLM: an OpenAI-compatible server of one model. vLLM splits the model over the GPUs of a machine by tensor
 * parallelism, and over machines by pipeline parallelism.
 */
export interface VllmSpec extends GpuRequestSpec, GpuServerSpec {
  /**
   * Name of the model on Hugging Face.
   * @example `Qwen/Qwen2.5-7B-Instruct`
   */
  model: string;
  /**
   * Number of machines over which vLLM splits the model. Each machine runs one pod with `gpus` GPUs and its own volume.
   * All these machines must have the same model of card. LeaderWorkerSet replaces the pods together. More than one
   * machine needs LeaderWorkerSet (`leaderWorkerSet`) and vLLM 0.12 or newer.
   * @default `1`
   * @example `2`
   */
  machines?: number;
  /**
   * Network between the machines of the model: minimum bandwidth and settings.
   * @default the defaults of its fields
   * @example `{ leastBandwidth: 10 }`
   */
  fabric?: FabricSpec;
  /**
   * Further arguments of the command `vllm serve`. If the cluster's pods have only IPv6 addresses, set `--host=::`,
   * because vLLM listens on IPv4 by default (vllm/entrypoints/openai/api_server.py, create_server_socket).
   * @default none
   * @example `[--max-model-len=8192]`
   */
  args?: string[];
  /**
   * Token of Hugging Face for gated models, in an existing Secret. Also set `namespace` to the namespace of this
   * Secret.
   * @default none
   * @example `{ name: hugging-face, key: token }`
   */
  huggingFaceToken?: SecretKeySpec;
  /**
   * API key that clients must send, in an existing Secret. Also set `namespace` to the namespace of this Secret. The
   * stack's LiteLLM needs a Secret of the same name in LiteLLM's namespace. vLLM requires the key for paths below `/v1`
   * and for a few others, but answers `/tokenize`, `/metrics` and more paths without a key. So also set `allowFrom`.
   * @default none: clients need no key
   * @example `{ name: vllm, key: api-key }`
   */
  apiKeySecret?: SecretKeySpec;
  /**
   * Size limit of `/dev/shm`, which the processes of one model share. Used space counts as memory of the pod.
   * @default `8Gi`
   * @example `16Gi`
   */
  sharedMemory?: string;
  /**
   * Image of the server's container. The package does not verify that the registry still has the default tag.
   * @default `vllm/vllm-openai` with a tag that the driver's CUDA can run
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
   * Namespace of the server. A namespace that you set must already exist. Without this field, the stack creates the
   * default namespace.
   * @default `vllm`
   * @example `ai`
   */
  namespace?: string;
}
