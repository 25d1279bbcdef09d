import {
  losses,
  runningExtensions,
  runningKernelArgs,
  type NextImage,
  type RunningImage,
} from "../../../components/recipe/machine/losses";
import {
  installerImage,
  installerKind,
  readSchematic,
  schematicOf,
} from "../../../components/recipe/machine/schematic";
import type { DropSpec } from "../../../components/recipe";

const sixExtensions = [
  "i915",
  "intel-ucode",
  "iscsi-tools",
  "qemu-guest-agent",
  "thunderbolt",
  "util-linux-tools",
].map((name) => `siderolabs/${name}`);
const overlay = {
  image: "siderolabs/sbc-rockchip",
  name: "turingrk1",
  options: { configTxt: "a" },
};

/**
 * An image of the Image Factory with six extensions, two effective arguments, an overlay and Secure Boot, on
 * another platform than metal.
 */
const factoryImage: RunningImage = {
  schematic: schematicOf({
    extensions: sixExtensions,
    kernelArgs: ["intel_iommu=on", "iommu=pt", 'nvidia.NVreg_A="b; c"', "talos.platform=a"],
    overlay, // two of the arguments have no effect
  }).yaml,
  extensions: { "iscsi-tools": "v0.2.0", schematic: "abc" },
  configuredArgs: [],
  platform: "nocloud",
  secureBoot: true,
};
const gpuExtensions = [
  "siderolabs/nvidia-container-toolkit-production",
  "siderolabs/nvidia-open-gpu-kernel-modules-production",
];
/** The image that the stack gives the machine. */
const nextImage = (
  fields: Partial<NextImage> & { platform?: string; secureBoot?: boolean } = {},
): NextImage => ({
  extensions: gpuExtensions,
  kernelArgs: [],
  gpu: true,
  installer: installerImage("a".repeat(64), "v1.12.6", fields),
  ...fields,
});
const gpu = { machine: "gpu-1", address: "192.0.2.1" };
/** The problems with an update to the next image, by the machine's field. */
const lostParts = (
  running: RunningImage,
  image: NextImage,
  drop?: DropSpec,
): Record<string, string> =>
  Object.fromEntries(
    losses(gpu, running, image, drop).map(({ field, problem }) => [
      field.replace("machines.gpu-1.", ""),
      problem,
    ]),
  );

describe("a machine that is taken over", () => {
  test("would lose all parts that the stack does not list, and each is named", () => {
    const lost = lostParts(factoryImage, nextImage());
    expect(Object.keys(lost).sort()).toEqual([
      "extensions",
      "kernelArgs",
      "overlay",
      "platform",
      "secureBoot",
    ]);
    for (const name of sixExtensions) expect(lost["extensions"]).toContain(name);
    expect(lost["extensions"]).toContain("siderolabs/iscsi-tools v0.2.0");
    expect(lost["kernelArgs"]).toContain("intel_iommu=on iommu=pt");
    expect(lost["overlay"]).toContain("turingrk1 of siderolabs/sbc-rockchip");
    expect(lost["platform"]).toContain("nocloud");
  });

  test("loses nothing if the stack lists all parts", () => {
    const imageWithAll = nextImage({
      extensions: [...sixExtensions, ...gpuExtensions],
      kernelArgs: ["iommu=pt", "intel_iommu=on"],
      overlay,
      platform: "nocloud",
      secureBoot: true,
    });
    expect(lostParts(factoryImage, imageWithAll)).toEqual({});
  });

  test("may lose all parts under drop, but not Secure Boot", () => {
    // An extension may be named without siderolabs/.
    const drop = {
      extensions: ["iscsi-tools", ...sixExtensions.slice(0, 2), ...sixExtensions.slice(3)],
      kernelArgs: ["intel_iommu=on", "iommu=pt"],
      overlay: true,
      platform: true,
    };
    expect(Object.keys(lostParts(factoryImage, nextImage(), drop))).toEqual(["secureBoot"]);
  });

  test("would lose only extensions if Omni makes its image", () => {
    const { installer: _installer, ...imageOfOmni } = nextImage();
    expect(Object.keys(lostParts(factoryImage, imageOfOmni))).toEqual(["extensions"]);
  });
});

test.each<[title: string, extensions: string[], withCard: boolean, reportedExtensions: string[]]>([
  [
    "a driver of another branch and flavour is no loss",
    ["siderolabs/nonfree-kmod-nvidia-lts", "siderolabs/nvidia-container-toolkit-lts"],
    true,
    [],
  ],
  [
    "a driver on a machine without a card in the stack is a loss",
    ["siderolabs/nonfree-kmod-nvidia-lts"],
    false,
    ["siderolabs/nonfree-kmod-nvidia-lts"],
  ],
  [
    "a fabric manager is a loss",
    ["siderolabs/nvidia-fabricmanager-lts"],
    true,
    ["siderolabs/nvidia-fabricmanager-lts"],
  ],
  [
    "GDRCopy's driver is a loss",
    ["siderolabs/nvidia-gdrdrv-device"],
    true,
    ["siderolabs/nvidia-gdrdrv-device"],
  ],
])("%s", (_, extensions, withCard, reportedExtensions) => {
  const runningImage = {
    schematic: schematicOf({ extensions, kernelArgs: [] }).yaml,
    extensions: {},
    configuredArgs: [],
  };
  const next = withCard ? nextImage() : nextImage({ gpu: false, extensions: [] });
  const { extensions: problem } = lostParts(runningImage, next);
  if (reportedExtensions.length === 0) expect(problem).toBeUndefined();
  for (const name of reportedExtensions) expect(problem).toContain(name);
});

describe("the driver that follows from the card because the stack sets none", () => {
  const imageWithExtensions = (...extensions: string[]): RunningImage => ({
    schematic: schematicOf({ extensions, kernelArgs: [] }).yaml,
    extensions: {},
    configuredArgs: [],
  });
  const proprietary = imageWithExtensions(
    "siderolabs/nonfree-kmod-nvidia",
    "siderolabs/nvidia-container-toolkit",
  );
  const imageWithUnnamedDriver = nextImage({ driverFieldsFromCard: ["branch", "flavour"] });

  test("is refused if another driver runs, and the remedy keeps or changes it", () => {
    const [finding, ...otherFindings] = losses(gpu, proprietary, imageWithUnnamedDriver);
    expect(otherFindings).toEqual([]);
    expect(finding).toMatchObject({
      field: "machines.gpu-1.driver",
      problem: expect.stringMatching(/branch lts with proprietary.*branch production with open/),
      remedy: expect.stringMatching(
        /to \{branch: lts, flavour: proprietary\} to keep.*\{branch: production, flavour: open\} to change/,
      ),
    });
  });

  test("is compared only in the fields that the stack leaves out", () => {
    const [finding] = losses(gpu, proprietary, nextImage({ driverFieldsFromCard: ["flavour"] }));
    expect(finding?.remedy).toMatch(/to \{flavour: proprietary\} to keep/);
    const openLts = imageWithExtensions("siderolabs/nvidia-open-gpu-kernel-modules-lts");
    expect(lostParts(openLts, nextImage({ driverFieldsFromCard: ["flavour"] }))).toEqual({});
  });

  test("is accepted if it already runs, if no driver runs, or if the running driver is unknown", () => {
    expect(lostParts(imageWithExtensions(...gpuExtensions), imageWithUnnamedDriver)).toEqual({});
    expect(lostParts(imageWithExtensions(), imageWithUnnamedDriver)).toEqual({});
    expect(lostParts({ extensions: {}, configuredArgs: [] }, imageWithUnnamedDriver)).toEqual({});
  });

  test("is also compared with the running driver if no Image Factory made the image", () => {
    const image = {
      extensions: { "nonfree-kmod-nvidia-lts": "535.247.01-v1.12.6" },
      configuredArgs: [],
    };
    expect(Object.keys(lostParts(image, imageWithUnnamedDriver))).toEqual(["driver"]);
  });
});

describe("a machine that boots by GRUB", () => {
  const schematic = schematicOf({ extensions: [], kernelArgs: ["pci=realloc", "iommu=pt"] }).yaml;
  const imageBootedByGrub = (commandLine: string, bootArgs: string[] = []): RunningImage => ({
    schematic,
    extensions: {},
    commandLine: `BOOT_IMAGE=/A/vmlinuz talos.platform=metal ${commandLine}`,
    configuredArgs: bootArgs,
    bootArgs,
    platform: "metal",
  });

  test("does not lose arguments of the image that the kernel started without", () => {
    expect(lostParts(imageBootedByGrub("console=tty0"), nextImage())).toEqual({});
    expect(lostParts(imageBootedByGrub("iommu=pt", ["iommu=pt"]), nextImage())).toEqual({});
  });

  test("gets a remedy that keeps a lost argument, by machine.install.extraKernelArgs, or drops it", () => {
    const [finding] = losses(gpu, imageBootedByGrub("pci=realloc"), nextImage());
    expect(finding?.problem).toMatch(/started with pci=realloc,/);
    expect(finding?.remedy).toBe(
      `to lose them on purpose, list them under machines.gpu-1.drop.kernelArgs: ["pci=realloc"]. To keep them, write them to the machine's configuration: \`talosctl -n 192.0.2.1 patch machineconfig --patch '{"machine":{"install":{"extraKernelArgs":["pci=realloc"]}}}'\`. This needs no reboot. Then run the update again`,
    );
  });
});

describe("an image that no Image Factory made", () => {
  const talosImage: RunningImage = {
    extensions: { "iscsi-tools": "v0.2.0", "v4l-uvc": "1", "modules.dep": "6.18.1-talos" },
    commandLine:
      "BOOT_IMAGE=/A/vmlinuz talos.platform=metal console=tty0 init_on_alloc=1 slab_nomerge= pti=on consoleblank=0 nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never pci=noaer intel_iommu=on",
    configuredArgs: ["pci=noaer"],
    platform: "metal",
    secureBoot: false,
  };

  test("would lose the extensions in its manifests and the arguments of its command line", () => {
    expect(runningExtensions(talosImage)).toEqual([
      "siderolabs/iscsi-tools",
      "siderolabs/v4l-uvc-drivers",
    ]);
    expect(runningKernelArgs(talosImage)).toEqual(["intel_iommu=on"]);
    expect(Object.keys(lostParts(talosImage, nextImage()))).toEqual(["extensions", "kernelArgs"]);
  });

  test("loses nothing if it has no extensions and no arguments", () => {
    expect(lostParts({ extensions: {}, configuredArgs: [] }, nextImage())).toEqual({});
  });
});

test("an embedded configuration would be lost, unless drop names it", () => {
  const schematic =
    "customization:\n    embeddedMachineConfiguration: |\n        kind: HostnameConfig\n";
  const runningImage = { schematic, extensions: {}, configuredArgs: [] };
  expect(Object.keys(lostParts(runningImage, nextImage()))).toEqual(["drop"]);
  expect(lostParts(runningImage, nextImage(), { embeddedMachineConfiguration: true })).toEqual({});
});

describe("a schematic", () => {
  test("has the same content when it is read back", () => {
    const content = { extensions: sixExtensions, kernelArgs: ["iommu=pt"], overlay };
    expect(readSchematic(schematicOf(content).yaml)).toEqual({
      ...content,
      embeddedMachineConfiguration: false,
    });
    expect(readSchematic("customization: {}\n")).toMatchObject({ extensions: [], kernelArgs: [] });
    expect(readSchematic("a: [")).toBeUndefined();
  });
});

test.each([
  [
    "factory.talos.dev/metal-installer/" + "a".repeat(64) + ":v1.12.6",
    { platform: "metal", secureBoot: false },
  ],
  [
    "f/digital-ocean-installer-secureboot/" + "a".repeat(64) + ":v1.12.6",
    { platform: "digital-ocean", secureBoot: true },
  ],
  ["f/installer-secureboot/" + "a".repeat(64) + ":v1.9.0", { secureBoot: true }],
  ["ghcr.io/siderolabs/installer:v1.12.6", { secureBoot: false }],
])("the name of the installer %s shows its platform and Secure Boot", (image, kind) =>
  expect(installerKind(image)).toEqual(kind),
);

test("an image of another program is no installer", () =>
  expect(installerKind("docker.io/library/busybox:1.37")).toBeUndefined());
