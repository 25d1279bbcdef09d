import { type FixId, fixes, fixIds } from "../../components/diagnosis";
import { planCluster, type Plan } from "../../components/recipe";
import { leaveOut } from "../without";
import { validStack } from "../../tests/recipe/stacks";
import { differingPaths } from "../../tests/recipe/differences";

const planOf = (name: string): Plan => planCluster(validStack(name));
const fixesUsedBy = (name: string): FixId[] =>
  fixes.filter((fix) => fix.usedBy(planOf(name))).map((fix) => fix.id);

const fixesOfAllStacks: FixId[] = ["nodeSelector", "schematic", "driverBranches"];

test.each([
  [
    "rtx5070ti",
    [
      "validationMarkers",
      "operatorValidatorLabel",
      "modelsPull",
      "cudaImage",
      "privilegedNamespace",
      "kernelModules",
      "deviceListStrategy",
    ],
  ],
  [
    "aarhus-h100",
    [
      "cudaImage",
      "kernelModules",
      "runtimeClass",
      "bpfJitHarden",
      "gpuPresentLabel",
      "deviceListStrategy",
    ],
  ],
  [
    "velaryon",
    [
      "cudaImage",
      "privilegedNamespace",
      "kernelModules",
      "runtimeClass",
      "bpfJitHarden",
      "gpuPresentLabel",
      "deviceListStrategy",
      "tolerations",
      "taintThroughApi",
    ],
  ],
  [
    "next",
    [
      "privilegedNamespace",
      "kernelModules",
      "operatorToolkit",
      "toolkitFolder",
      "noRuntimeClass",
      "managementCards",
    ] as FixId[],
  ],
  ["modern", ["privilegedNamespace", "kernelModules", "tolerations", "taintThroughApi"]],
])("the stack %s needs the fixes %j, besides those that all stacks need", (name, ids) =>
  expect(fixesUsedBy(name).sort()).toEqual([...ids, ...fixesOfAllStacks].sort()),
);

test("each fix has symptom, cause and source", () => {
  expect(fixes.map((fix) => fix.id)).toEqual([...fixIds]);
  for (const fix of fixes)
    for (const part of ["does", "symptom", "cause", "source"] as const)
      expect(fix[part]).toMatch(/\S/);
});

/** Paths of the values in a plan that may change if a fix is left out. */
const changedPaths: Record<FixId, RegExp> = {
  validationMarkers:
    /^(kubernetes\.markers|machines\.\d+\.nodeLabels\.(nvidia\.com\/gpu\.deploy\.operator-validator|talos-gpu\/validation-markers)$)/,
  operatorValidatorLabel:
    /^machines\.\d+\.nodeLabels\.nvidia\.com\/gpu\.deploy\.operator-validator$/,
  nodeSelector: /^kubernetes\.(nodeSelector|release\.values\.nodeSelector)\./,
  driverBranches:
    /^machines\.\d+\.(extensions|schematic|schematicId|installerImage|driverVersion|patches)\b/,
  schematic: /^machines\.\d+\.(schematic|schematicId|installerImage)$/,
  cudaImage: /^kubernetes\.smokeTestImage$/,
  modelsPull: /^spec\.workloads\.ollama\.models\b/,
  privilegedNamespace: /^kubernetes\.namespaceLabels\./,
  kernelModules: /^machines\.\d+\.(kernelModules|patches)\b/,
  runtimeClass: /^kubernetes\.runtimeClass\.owner$/,
  bpfJitHarden: /^machines\.\d+\.(sysctls|patches)\b/,
  gpuPresentLabel: /^machines\.\d+\.nodeLabels\.nvidia\.com\/gpu\.present$/,
  deviceListStrategy:
    /^kubernetes\.release\.values\.(deviceListStrategy|devicePlugin\.env\.\d+\.value)$/,
  tolerations: /^kubernetes\.(tolerations|release\.values\.([\w-]+\.)*tolerations)\b/,
  taintThroughApi: /^machines\.\d+\.(nodeTaints|patches)\b/,
  perMachinePatch: /^machines\.\d+\.patches\b/,
  sharedMemory: /^spec\.workloads\.vllm\.sharedMemory$/,
  operatorToolkit: /^kubernetes\.release\.values\.(toolkit|cdi)\b/,
  toolkitFolder: /^kubernetes\.release\.values\.toolkit\.installDir$/,
  noRuntimeClass: /^kubernetes\.runtimeClass\.name$/,
  managementCards: /^kubernetes\.runtimeClass\.handler$/,
  migManager: /^kubernetes\.(markers\.\d+\.content|release\.values\.migManager\.)/,
};

const stackFixes = [
  "rtx5070ti",
  "aarhus-h100",
  "velaryon",
  "frank",
  "omni",
  "mig",
  "large",
  "next",
].flatMap((name) => fixesUsedBy(name).map((fix) => [name, fix] as const));

test("each fix is needed by at least one of these stacks", () => {
  const neededFixes = stackFixes.map(([, fix]) => fix);
  expect(fixIds.filter((fix) => !neededFixes.includes(fix))).toEqual([]);
});

test.each(stackFixes)(
  "the plan of %s without %s differs only in what the fix adds",
  (name, fix) => {
    const plan = planOf(name);
    const paths = differingPaths(plan, leaveOut([fix], plan));
    expect(paths).not.toEqual([]);
    expect(paths.filter((path) => !changedPaths[fix].test(path))).toEqual([]);
    expect(plan).toEqual(planOf(name)); // the given plan is unchanged
  },
);
