import type { GpuPodSpec } from "./gpu-pod";
import type { LiteLlmSpec } from "./litellm";
import type { NamedServerSpec } from "./named";

/** Model servers and pods that run on the GPUs, and a LiteLLM proxy for the servers. */
export interface WorkloadsSpec extends NamedServerSpec {
  /**
   * LiteLLM: a proxy that routes requests to all ollama and vLLM servers of the stack, including those under `named`.
   * The stack must have at least one such server.
   * @default none
   * @example `{ masterKeySecret: litellm-key }`
   */
  litellm?: LiteLlmSpec;
  /**
   * Further servers, so that a stack can have several of a kind. The key is the name of the Deployment, of the Service
   * and of the entry in the output `endpoints`. It is also the name of the namespace, unless the server sets
   * `namespace`.
   * @default none
   * @example `{ small: { ollama: { nodeSelector: { card: small } } }, big: { vllm: { model: Qwen/Qwen3-32B, gpus: 2 }
   * } }`
   */
  named?: Record<string, NamedServerSpec>;
  /**
   * Pods of your own with GPUs, by name.
   * @default none
   * @example `{ nvidia-test: { image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", command: [nvidia-smi] } }`
   */
  pods?: Record<string, GpuPodSpec>;
}
