/**
 * CUDA and drivers. Sources: docs.nvidia.com/deploy/cuda-compatibility, "minor version compatibility" (floors);
 * CUDA toolkit release notes (newest CUDA per driver branch); tags of nvcr.io/nvidia/k8s/cuda-sample (samples).
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

/** Oldest first. */
export const cudaSamples: CudaSample[] = [
  { cuda: "11.7", image: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda11.7.1-ubuntu20.04" },
  { cuda: "12.5", image: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0" },
];
