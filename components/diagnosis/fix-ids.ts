/** Names of the fixes, in the order in which they are told. What each is for stands in known/. */
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
