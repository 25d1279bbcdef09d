import type { Transform } from "../../transform";

/** The smoke test's image is of CUDA 13, whatever the driver. That NVIDIA publishes this tag is not verified. */
export const cudaImage: Transform = ({ kubernetes }) => {
  kubernetes.smokeTestImage = "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda13.0.0";
};
