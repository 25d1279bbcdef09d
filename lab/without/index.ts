import type { FixId } from "../../components/diagnosis";
/**
 * The package cannot be told to be wrong. To show what one of its fixes prevents, the lab changes the finished plan: one
 * transform per fix, given to the stack's program by `program.ts`.
 */
import type { Plan } from "../../components/recipe";
import type { Transform } from "./transform";
import { bpfJitHarden } from "./transforms/bpf-jit-harden";
import { cudaImage } from "./transforms/cuda-image";
import { deviceListStrategy } from "./transforms/device-list-strategy";
import { driverBranches } from "./transforms/driver-branches";
import { gpuPresentLabel } from "./transforms/gpu-present-label";
import { kernelModules } from "./transforms/kernel-modules";
import { migManager } from "./transforms/mig-manager";
import { modelsPull } from "./transforms/models-pull";
import { nodeSelector } from "./transforms/node-selector";
import { operatorValidatorLabel } from "./transforms/operator-validator-label";
import { perMachinePatch } from "./transforms/per-machine-patch";
import { privilegedNamespace } from "./transforms/privileged-namespace";
import { runtimeClass } from "./transforms/runtime-class";
import { schematic } from "./transforms/schematic";
import { taintThroughApi } from "./transforms/taint-through-api";
import { tolerations } from "./transforms/tolerations";
import { validationMarkers } from "./transforms/validation-markers";

const transforms: Record<FixId, Transform> = {
  bpfJitHarden,
  cudaImage,
  deviceListStrategy,
  driverBranches,
  gpuPresentLabel,
  kernelModules,
  migManager,
  modelsPull,
  nodeSelector,
  operatorValidatorLabel,
  perMachinePatch,
  privilegedNamespace,
  runtimeClass,
  schematic,
  taintThroughApi,
  tolerations,
  validationMarkers,
};

/** The plan as it would be without these fixes. The given plan stays as it is. */
export function leaveOut(fixes: readonly FixId[], plan: Plan): Plan {
  const wrong = JSON.parse(JSON.stringify(plan)) as Plan; // a plan is plain data
  for (const fix of fixes) transforms[fix](wrong);
  return wrong;
}
