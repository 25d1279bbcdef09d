import { comfyUiImage, vllmImage } from "../../facts/cuda";
import { workloads } from "../../facts/data/images.json";
import type { WorkloadKind } from "./index";

/**
 * Default image of each kind of workload, by the newest CUDA that the drivers support. Undefined for a kind whose image
 * the stack must set. The table does not compile if a kind is missing.
 */
export const defaultImages: Readonly<Record<WorkloadKind, ((cuda: string) => string) | undefined>> =
  {
    ollama: () => workloads.ollama,
    comfyui: comfyUiImage,
    litellm: () => workloads.litellm,
    vllm: vllmImage,
    pods: undefined,
  };
