import type { ComfyUiSpec } from "./comfyui";
import type { OllamaSpec } from "./ollama";
import type { VllmSpec } from "./vllm";

/** Servers that compute on a GPU. Each entry of `workloads.named` is one of these three. */
export interface NamedServerSpec {
  /**
   * Ollama: a server of language models.
   * @default none
   * @example `{ models: [llama3.2:3b], nodeSelector: { card: small } }`
   */
  ollama?: OllamaSpec;
  /**
   * ComfyUI: a server that makes images.
   * @default none
   * @example `{ storage: 200Gi }`
   */
  comfyui?: ComfyUiSpec;
  /**
   * OpenAI-compatible server of one language model, run by vLLM.
   * @default none
   * @example `{ model: Qwen/Qwen2.5-7B-Instruct }`
   */
  vllm?: VllmSpec;
}
