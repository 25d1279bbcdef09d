import { comfyUiImage, vllmImage } from "../../facts/cuda";
import { workloads } from "../../facts/data/images.json";
import type { WorkloadKind } from "./index";

/**
 * The image of a workload that names none, by the newest CUDA that the drivers run. Undefined: it always names one. A kind that is
 * missing here does not compile.
 */
export const defaultImages: Readonly<Record<WorkloadKind, ((cuda: string) => string) | undefined>> =
  {
    ollama: () => workloads.ollama,
    comfyui: comfyUiImage,
    litellm: () => workloads.litellm,
    vllm: vllmImage,
    pods: undefined,
  };
