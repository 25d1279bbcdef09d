import type { RunningImage } from "../../../components/recipe/machine/losses";
import { schematicOf } from "../../../components/recipe/machine/schematic";
import { ignoredArgsFindings } from "../../../components/recipe/machine/losses";

const imageBootedByGrub = (changes: Partial<RunningImage> = {}): RunningImage => ({
  commandLine: "BOOT_IMAGE=/A/vmlinuz talos.platform=metal console=tty0",
  extensions: {},
  configuredArgs: [],
  bootArgs: [],
  ...changes,
});
const schematic = schematicOf({ extensions: [], kernelArgs: ["pci=realloc"] }).yaml;

test("kernel arguments that GRUB ignores are reported, with a remedy", () => {
  const findings = ignoredArgsFindings("gpu-1", imageBootedByGrub(), {
    kernelArgs: ["pci=realloc", "console=tty0 iommu=pt"],
  });
  expect(findings).toEqual([
    {
      field: "machines.gpu-1.kernelArgs",
      problem: expect.stringMatching(/boots with GRUB.* without pci=realloc iommu=pt$/),
      why: expect.any(String),
      remedy: expect.stringMatching(/grubUseUKICmdline.*extraKernelArgs.*run the update again$/),
    },
  ]);
});

test.each<[situation: string, runningImage: RunningImage, kernelArgs: string[]]>([
  [
    "a boot loader that uses the image's arguments",
    { extensions: {}, configuredArgs: [] },
    ["pci=realloc"],
  ],
  ["a stack without kernel arguments", imageBootedByGrub(), []],
  [
    "arguments that the kernel has",
    imageBootedByGrub({ commandLine: "BOOT_IMAGE=/A/vmlinuz pci=realloc" }),
    ["pci=realloc"],
  ],
  [
    "arguments that the configuration sets",
    imageBootedByGrub({ bootArgs: ["pci=realloc"] }),
    ["pci=realloc"],
  ],
  [
    "arguments that the present image has without effect",
    imageBootedByGrub({ schematic }),
    ["pci=realloc"],
  ],
])("no kernel argument is reported for %s", (_, runningImage, kernelArgs) => {
  expect(ignoredArgsFindings("gpu-1", runningImage, { kernelArgs })).toEqual([]);
});
