import type { RunningImage } from "../../../components/recipe/machine/losses";
import { schematicOf } from "../../../components/recipe/machine/schematic";
import {
  argsConflictFindings,
  ignoredArgsFindings,
} from "../../../components/recipe/machine/boot-args";
import type { BootArgsContext } from "../../../components/recipe/machine/grub/remedies";

const imageBootedByGrub = (changes: Partial<RunningImage> = {}): RunningImage => ({
  commandLine: "BOOT_IMAGE=/A/vmlinuz talos.platform=metal console=tty0",
  extensions: {},
  configuredArgs: [],
  bootArgs: [],
  ...changes,
});
const gpu = { machine: "gpu-1", address: "192.0.2.1" };
const schematic = schematicOf({ extensions: [], kernelArgs: ["pci=realloc"] }).yaml;

test("kernel arguments that GRUB ignores are reported, with a remedy", () => {
  const findings = ignoredArgsFindings(gpu, imageBootedByGrub(), {
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

test("a machine whose configuration has arguments for GRUB gets the new ones there as well", () => {
  const running = imageBootedByGrub({ bootArgs: ["console=ttyS1"] });
  const [finding] = ignoredArgsFindings(gpu, running, { kernelArgs: ["pci=realloc"] });
  expect(finding!.remedy).toContain(
    `talosctl -n 192.0.2.1 patch machineconfig --patch '{"machine":{"install":{"extraKernelArgs":["pci=realloc"]}}}'`,
  );
  // The installer refuses a configuration with both.
  expect(finding!.remedy).not.toContain("grubUseUKICmdline");
});

test("the remedy fits the owner of the configuration, and a staged configuration", () => {
  const remedyFor = (context: Partial<BootArgsContext>): string =>
    ignoredArgsFindings({ ...gpu, ...context }, imageBootedByGrub(), { kernelArgs: ["a='b'"] })[0]!
      .remedy;
  expect(remedyFor({})).toMatch(/extraKernelArgs":\["a='\\''b'\\''"\].*Then run the update again$/);
  expect(remedyFor({ isStaged: true })).toMatch(/change `reconcileToken` before you run/);
  expect(remedyFor({ runningRelease: "v1.11.5" })).not.toContain("grubUseUKICmdline");
  expect(remedyFor({ runningRelease: "v1.12.0" })).not.toContain("extraKernelArgs");
  // The stack would replace what a command changes in a configuration that it owns.
  expect(remedyFor({ configuration: "owned" })).toMatch(
    /under machines\.gpu-1\.patches.* First run an update with only this change/,
  );
  expect(remedyFor({ configuration: "owned" })).not.toContain("talosctl");
});

test("a configuration that the installer would refuse is reported", () => {
  const running = imageBootedByGrub({ hasArgsConflict: true });
  expect(argsConflictFindings(gpu, running)).toMatchObject([
    { field: "machines.gpu-1", remedy: expect.stringContaining("grubUseUKICmdline: false") },
  ]);
  expect(argsConflictFindings(gpu, imageBootedByGrub())).toEqual([]);
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
  expect(ignoredArgsFindings(gpu, runningImage, { kernelArgs })).toEqual([]);
});
