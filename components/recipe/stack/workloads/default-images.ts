import { comfyUiImage, vllmImage } from "../../facts/cuda";
import { workloads } from "../../facts/data/images.json";
import type { WorkloadKind } from "./index";

/**
 * Default images of workloads, by the newest CUDA that the drivers support. Undefined for a kind that must name its
 * image. Without one of the kinds this does not compile.
 */
export const defaultImages: Readonly<Record<WorkloadKind, ((cuda: string) => string) | undefined>> =
  {
    ollama: () => workloads.ollama,
    comfyui: comfyUiImage,
    litellm: () => workloads.litellm,
    vllm: vllmImage,
    pods: undefined,
  };
