import type { DraSpec } from "../spec/index";
import type { ReleaseRecipe } from "../types";
import { allAtOnce } from "./update-strategy";
import { type Ground, releaseOfGpuProvider } from "./values";

/**
 * Folder in which the DRA driver looks for libnvidia-ml.so.1 and nvidia-smi on Talos ≥ 1.13. The driver's init
 * container follows a symbolic link to the library, but no symbolic link to nvidia-smi. On Talos, nvidia-smi is a real
 * file only in /usr/local/bin (dra-driver-nvidia-gpu v0.5.0, hack/kubelet-plugin-prestart.sh; siderolabs/docs v1.13,
 * dynamic-resource-allocation; dra-driver-nvidia-gpu#605). The DRA driver finds no device nodes below this folder, and
 * therefore uses those in /dev (cmd/gpu-kubelet-plugin/root.go, getDevRoot).
 */
export const draDriverRoot = "/usr/local";

/** The release of NVIDIA's driver for dynamic resource allocation. */
export function draRelease(
  dra: DraSpec,
  { spec, tolerations, nodeSelector, updateStrategy }: Ground,
): ReleaseRecipe {
  return releaseOfGpuProvider("dra", dra, {
    nvidiaDriverRoot: draDriverRoot,
    // This value confirms to the chart that no device plugin offers the same cards (templates/validation.yaml).
    gpuResourcesEnabledOverride: true,
    // This value is for memory that the machines of a rack share by NVLink. That is another driver of the same chart,
    // with a controller, and no claim of a card needs it.
    resources: { computeDomains: { enabled: false } },
    kubeletPlugin: {
      nodeSelector,
      tolerations,
      // The chart's own strategy replaces all pods of the nodes that are up.
      ...(updateStrategy && { updateStrategy: allAtOnce(spec) }),
    },
  });
}
