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

test("arguments of the image that GRUB ignores are named, with a remedy", () => {
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
  ["a boot loader that takes the image's", { extensions: {}, configuredArgs: [] }, ["pci=realloc"]],
  ["no arguments", byGrub(), []],
  [
    "those that the kernel has",
    byGrub({ commandLine: "BOOT_IMAGE=/A/vmlinuz pci=realloc" }),
    ["pci=realloc"],
  ],
  ["those that the configuration gives", byGrub({ bootArgs: ["pci=realloc"] }), ["pci=realloc"]],
  ["those that the image has already, without effect", byGrub({ schematic }), ["pci=realloc"]],
])("%s are accepted", (_, running, kernelArgs) => {
  expect(unheardArgs("gpu-1", running, { kernelArgs })).toEqual([]);
});
