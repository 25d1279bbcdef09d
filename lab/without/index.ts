/**
 * The package cannot be told to be wrong. To show what one of its fixes prevents, the lab changes the finished plan: one
 * transform per fix, given to the stack's program by `program.ts`.
 */
import type { FixId } from "../../components/diagnosis";
import type { Plan } from "../../components/recipe";
import type { Transform } from "./transform";
import { bpfJitHarden } from "./transforms/machine/bpf-jit-harden";
import { driverBranches } from "./transforms/machine/driver-branches";
import { kernelModules } from "./transforms/machine/kernel-modules";
import { perMachinePatch } from "./transforms/machine/per-machine-patch";
import { schematic } from "./transforms/machine/schematic";
import { taintThroughApi } from "./transforms/machine/taint-through-api";
import { cudaImage } from "./transforms/kubernetes/cuda-image";
import { deviceListStrategy } from "./transforms/kubernetes/device-list-strategy";
import { gpuPresentLabel } from "./transforms/kubernetes/gpu-present-label";
import { migManager } from "./transforms/kubernetes/mig-manager";
import { modelsPull } from "./transforms/kubernetes/models-pull";
import { nodeSelector } from "./transforms/kubernetes/node-selector";
import { operatorValidatorLabel } from "./transforms/kubernetes/operator-validator-label";
import { privilegedNamespace } from "./transforms/kubernetes/privileged-namespace";
import { runtimeClass } from "./transforms/kubernetes/runtime-class";
import { tolerations } from "./transforms/kubernetes/tolerations";
import { validationMarkers } from "./transforms/kubernetes/validation-markers";

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
