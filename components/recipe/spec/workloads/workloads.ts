import type { GpuPodSpec } from "./gpu-pod";
import type { LiteLlmSpec } from "./litellm";
import type { NamedServerSpec } from "./named";

/** What runs on the GPUs. */
export interface WorkloadsSpec extends NamedServerSpec {
  /**
   * LiteLLM. It routes requests to `ollama` and `vllm`, also to those under `named`, and needs one of them.
   * @default none
   * @example `{ masterKeySecret: litellm-key }`
   */
  litellm?: LiteLlmSpec;
  /**
   * Further servers by name, so that a stack has several of a kind. The Deployment, the Service and the endpoint among the outputs have
   * this name. So does the namespace, unless the server names another.
   * @default none
   * @example `{ small: { ollama: { nodeSelector: { card: small } } }, big: { vllm: { model: Qwen/Qwen3-32B, gpus: 2 } } }`
   */
  named?: Record<string, NamedServerSpec>;
  /**
   * Pods by name.
   * @default none
   * @example `{ nvidia-test: { image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", command: [nvidia-smi] } }`
   */
  pods?: Record<string, GpuPodSpec>;
}
