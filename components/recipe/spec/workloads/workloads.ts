import type { ComfyUiSpec } from "./comfyui";
import type { GpuPodSpec } from "./gpu-pod";
import type { LiteLlmSpec } from "./litellm";
import type { OllamaSpec } from "./ollama";
import type { VllmSpec } from "./vllm";

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
