/** Names of the fixes, for `without`. What each is for stands in fixes/. */
export const fixIds = [
  "validationMarkers",
  "operatorValidatorLabel",
  "modelsPull",
  "nodeSelector",
  "schematic",
  "driverBranches",
  "cudaImage",
  "privilegedNamespace",
  "kernelModules",
  "runtimeClass",
  "bpfJitHarden",
  "gpuPresentLabel",
  "deviceListStrategy",
  "tolerations",
  "taintThroughApi",
  "perMachinePatch",
  "migManager",
] as const;

/** Name of a fix. */
export type FixId = (typeof fixIds)[number];

/** Tells whether a fix is in force: true unless the stack leaves it out. */
export type FixSwitch = (fix: FixId) => boolean;

/** The switch of a stack. */
export function fixSwitch(without: string[] | undefined): FixSwitch {
  const left = new Set(without ?? []);
  return (fix) => !left.has(fix);
}
