import type { DraSpec } from "../spec/index";
import type { ReleaseRecipe } from "../types";
import { type Ground, releaseOfGpuProvider } from "./values";

/**
 * Where the driver looks for libnvidia-ml.so.1 and nvidia-smi on Talos ≥ 1.13: its init container follows links to
 * the library, but wants a program that is no link. Talos has one only in /usr/local/bin (dra-driver-nvidia-gpu
 * v0.5.0, hack/kubelet-plugin-prestart.sh; siderolabs/docs v1.13, dynamic-resource-allocation;
 * dra-driver-nvidia-gpu#605). Device nodes it takes from /dev, because there is none below this root
 * (cmd/gpu-kubelet-plugin/root.go, getDevRoot).
 */
export const draDriverRoot = "/usr/local";

/** The release of NVIDIA's driver for dynamic resource allocation. */
export function draRelease(dra: DraSpec, { tolerations, nodeSelector }: Ground): ReleaseRecipe {
  return releaseOfGpuProvider("dra", dra, {
    nvidiaDriverRoot: draDriverRoot,
    // By this the chart wants to hear that no device plugin offers the same cards (templates/validation.yaml).
    gpuResourcesEnabledOverride: true,
    // Memory that machines of a rack share by NVLink: another driver of the same chart, with a controller, which no
    // claim of a card needs.
    resources: { computeDomains: { enabled: false } },
    kubeletPlugin: { nodeSelector, tolerations },
  });
}
