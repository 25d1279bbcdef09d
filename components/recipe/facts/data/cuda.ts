/**
 * CUDA and drivers. Sources: docs.nvidia.com/deploy/cuda-compatibility, "minor version compatibility" (floors);
 * CUDA toolkit release notes (newest CUDA per driver branch); tags of nvcr.io/nvidia/k8s/cuda-sample (samples);
 * vllm#18813, vllm#5635, vllm#42738 (CUDA that vLLM's images ask for); vllm-omni#1386 (that v0.22.1 is served);
 * gpustack/runner#180 (its month).
 */

/** Oldest driver that runs any image of a CUDA major. */
export const cudaFloors: Record<number, string> = { 11: "450.80.02", 12: "525.60.13", 13: "580.65.06" };

/** Newest CUDA of a driver branch, as `nvidia-smi` prints it. */
export const cudaOfBranch: Record<number, string> = {
  535: "12.2",
  550: "12.4",
  560: "12.6",
  570: "12.8",
  575: "12.9",
  580: "13.0",
  590: "13.1",
  595: "13.2",
  610: "13.3",
};

/** Last minor of a CUDA major, for cards that later majors dropped. */
export const lastCudaOfMajor: Record<number, string> = { 11: "11.8", 12: "12.9" };

/** A CUDA sample image that prints `Test PASSED`. */
export interface CudaSample {
  cuda: string;
  image: string;
}

/** Samples for the smoke test, the oldest CUDA first. */
export const cudaSamples: CudaSample[] = [
  { cuda: "11.7", image: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04" },
  { cuda: "12.5", image: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0" },
];

/** vLLM's releases by the CUDA that their images are built with. */
export interface VllmCuda {
  /** First release with it. Later ones may have a newer CUDA of the same major: what is known is the least. */
  from: string;
  cuda: string;
  /** Tag of the release that stands for the row where a stack names no image. */
  image: string;
  /** Month of that release; older rows are for old drivers, whatever their age. */
  released?: string;
}

/** vLLM's releases by their CUDA, newest first. */
export const cudaOfVllm: VllmCuda[] = [
  { from: "0.20.0", cuda: "13.0", image: "v0.22.1", released: "2026-06" },
  { from: "0.9.0", cuda: "12.8", image: "v0.10.2" },
  { from: "0.5.0", cuda: "12.4", image: "v0.8.5" },
];

/**
 * Images of yanwk/comfyui-boot by the CUDA they are built with, newest first. cu128-slim is archived since 2026-05-19. The tags
 * move: the month is the one in which the project last named the tag the one to take.
 */
export const cudaOfComfyUi: { cuda: string; image: string; released?: string }[] = [
  { cuda: "13.0", image: "yanwk/comfyui-boot:cu130-slim-v2", released: "2026-05" },
  { cuda: "12.8", image: "yanwk/comfyui-boot:cu128-slim" },
  { cuda: "12.6", image: "yanwk/comfyui-boot:cu126-slim" },
];
