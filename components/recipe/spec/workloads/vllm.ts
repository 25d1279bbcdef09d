import type { GpuRequestSpec, GpuServerSpec } from "./gpu-server";

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

/** vLLM: an OpenAI-compatible server of one model, which it splits over its GPUs by tensor parallelism. */
export interface VllmSpec extends GpuRequestSpec, GpuServerSpec {
  /**
   * Model by its name on Hugging Face.
   * @example `Qwen/Qwen2.5-7B-Instruct`
   */
  model: string;
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
   * Container image. Nobody has verified that the registry has the default tag.
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
