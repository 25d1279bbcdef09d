import { cudaFloor } from "../../recipe/facts/cuda";
import { compareDotted } from "../../recipe/facts/version";
import { workloadsOfKind } from "../../recipe/stack/workloads";
import { matching } from "../evidence";
import type { Fixes } from "./known";

/** What runs on the GPUs, and fails there. */
export const workloadFixes = {
  modelsPull: {
    does: "a Job asks the running ollama to pull its models, instead of a postStart hook in its container",
    symptom: "ollama's container is killed seconds after its start, again and again: FailedPostStartHook",
    cause:
      "the hook's exec fails in a GPU container on Talos ≤ 1.12, and Kubernetes kills a container whose postStart hook fails; `init 250 result=11` in a container's log, without a hook that fails, is harmless",
    errors: ["FailedPostStartHook", "PostStartHookError"],
    inForce: "set workloads.ollama.pullBy to job",
    source: "siderolabs/extensions#940; ollama-helm#68, #100",
    usedBy: (plan) =>
      plan.era === "legacy" &&
      workloadsOfKind(plan.spec, "ollama").some(({ said: { models = [] } }) => models.length > 0),
    check: "ollama-pull",
    // The message of the kubelet's event FailedPostStartHook; it comes with the runtime's own words. These words alone, `init 250
    // result=11` in a log, say nothing: five reports call them harmless (siderolabs/extensions#940).
    sign: (seen) => matching(seen, /(PostStartHookError|lifecycle hook).*(nvidia|init 250)/is),
  },
  cudaImage: {
    does: "default images have the newest CUDA that the drivers of all GPU machines support",
    symptom: "CUDA programs fail: CUDA driver version is insufficient for CUDA runtime version",
    cause:
      "the image is of a CUDA major whose oldest driver (12: 525.60.13, 13: 580.65.06) is newer than the machine's",
    errors: [
      "CUDA driver version is insufficient for CUDA runtime version",
      "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=…, please update your driver to a newer version",
    ],
    inForce: "name an image of an older CUDA (smokeTestImage, workloads.<name>.image)",
    source: "docs.nvidia.com/deploy/cuda-compatibility, minor version compatibility",
    usedBy: (plan) => plan.machines.some(({ driverVersion }) => isOlderThan(driverVersion, cudaFloor("13.0"))),
    check: "cuda-image",
    // The CUDA runtime's words, and those of nvidia-container-cli for images that carry NVIDIA_REQUIRE_CUDA.
    sign: (seen) =>
      matching(
        seen,
        /CUDA driver version is insufficient for CUDA runtime version|requirement error: unsatisfied condition: cuda/,
      ),
  },
} satisfies Fixes;

const isOlderThan = (driver: string | undefined, floor: string | undefined): boolean =>
  driver !== undefined && floor !== undefined && compareDotted(driver, floor) < 0;
