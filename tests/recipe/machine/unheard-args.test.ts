import type { RunningImage } from "../../../components/recipe/machine/losses";
import { schematicOf } from "../../../components/recipe/machine/schematic";
import { unheardArgs } from "../../../components/recipe/machine/losses";

const byGrub = (changes: Partial<RunningImage> = {}): RunningImage => ({
  commandLine: "BOOT_IMAGE=/A/vmlinuz talos.platform=metal console=tty0",
  extensions: {},
  configuredArgs: [],
  bootArgs: [],
  ...changes,
});
const schematic = schematicOf({ extensions: [], kernelArgs: ["pci=realloc"] }).yaml;

test("kernel arguments that GRUB ignores are reported, with a remedy", () => {
  const found = unheardArgs("gpu-1", byGrub(), {
    kernelArgs: ["pci=realloc", "console=tty0 iommu=pt"],
  });
  expect(found).toEqual([
    {
      field: "machines.gpu-1.kernelArgs",
      problem: expect.stringMatching(/boots with GRUB.* without pci=realloc iommu=pt$/),
      why: expect.any(String),
      remedy: expect.stringMatching(/grubUseUKICmdline.*extraKernelArgs.*run the update again$/),
    },
  ]);
});

test.each<[string, RunningImage, string[]]>([
  [
    "a boot loader that uses the image's arguments",
    { extensions: {}, configuredArgs: [] },
    ["pci=realloc"],
  ],
  ["a stack without kernel arguments", byGrub(), []],
  [
    "arguments that the kernel has",
    byGrub({ commandLine: "BOOT_IMAGE=/A/vmlinuz pci=realloc" }),
    ["pci=realloc"],
  ],
  ["arguments that the configuration sets", byGrub({ bootArgs: ["pci=realloc"] }), ["pci=realloc"]],
  ["arguments that the present image has without effect", byGrub({ schematic }), ["pci=realloc"]],
])("no kernel argument is reported for %s", (_, running, kernelArgs) => {
  expect(unheardArgs("gpu-1", running, { kernelArgs })).toEqual([]);
});
