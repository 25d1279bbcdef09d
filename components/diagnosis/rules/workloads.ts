import { matching } from "../evidence";
import type { Rules } from "./rule";

/** What runs on the GPUs, and fails there. */
export const workloadRules = {
  /** The CUDA runtime's words, and those of nvidia-container-cli for images that carry NVIDIA_REQUIRE_CUDA. */
  cudaImage: {
    sign: (seen) =>
      matching(
        seen,
        /CUDA driver version is insufficient for CUDA runtime version|requirement error: unsatisfied condition: cuda/,
      ),
  },
  /**
   * The message of the kubelet's event FailedPostStartHook; it comes with the runtime's own words. These words alone, `init 250
   * result=11` in a log, say nothing: five reports call them harmless (siderolabs/extensions#940).
   */
  modelsPull: { sign: (seen) => matching(seen, /(PostStartHookError|lifecycle hook).*(nvidia|init 250)/is) },
} satisfies Rules;
