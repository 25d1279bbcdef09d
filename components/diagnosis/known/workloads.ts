import { cudaFloor } from "../../recipe/facts/cuda";
import { compareDotted } from "../../recipe/facts/version";
import { workloadsOfKind } from "../../recipe/stack/workloads";
import { matching } from "../evidence";
import type { Signs } from "./known";

/** What runs on the GPUs, and fails there. */
export const workloadFixes = {
  modelsPull: {
    usedBy: (plan) =>
      plan.era === "legacy" &&
      workloadsOfKind(plan.spec, "ollama").some(({ said: { models = [] } }) => models.length > 0),
    // The kubelet's event FailedPostStartHook, which quotes the runtime. The runtime's words alone, `init 250 result=11` in a log, are no sign:
    // five reports call them harmless (siderolabs/extensions#940).
    sign: (seen) =>
      matching(
        seen,
        /(?:PostStartHookError|lifecycle hook)(?:(?!PostStartHookError|lifecycle hook).)*(?:nvidia|init 250)/is,
      ),
  },
  cudaImage: {
    usedBy: (plan) =>
      plan.machines.some(({ driverVersion }) => isOlderThan(driverVersion, cudaFloor("13.0"))),
    // The CUDA runtime's words, and those of nvidia-container-cli for images that carry NVIDIA_REQUIRE_CUDA.
    sign: (seen) =>
      matching(
        seen,
        /CUDA driver version is insufficient for CUDA runtime version|requirement error: unsatisfied condition: cuda/,
      ),
  },
  sharedMemory: {
    usedBy: (plan) =>
      workloadsOfKind(plan.spec, "vllm").some(
        ({ said: { gpus = 1, machines = 1 } }) => gpus * machines > 1,
      ),
    sign: (seen) =>
      matching(
        seen,
        /failed to extend \/dev\/shm\/nccl-|creating shared memory segment \/dev\/shm\/nccl-/,
      ),
  },
} satisfies Signs;

const isOlderThan = (driver: string | undefined, floor: string | undefined): boolean =>
  driver !== undefined && floor !== undefined && compareDotted(driver, floor) < 0;
