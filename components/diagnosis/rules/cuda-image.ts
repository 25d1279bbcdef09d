import { matching } from "../evidence";
import type { Rule } from "./rule";

/** The CUDA runtime's words, and those of nvidia-container-cli for images that carry NVIDIA_REQUIRE_CUDA. */
export const cudaImage: Rule = {
  fix: "cudaImage",
  sign: (seen) =>
    matching(
      seen,
      /CUDA driver version is insufficient for CUDA runtime version|requirement error: unsatisfied condition: cuda/,
    ),
  causes: [],
};
