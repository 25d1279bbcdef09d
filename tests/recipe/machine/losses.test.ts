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

const six = [
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
 * A machine with an image of the Image Factory that has six extensions, two effective arguments, an overlay and
 * Secure Boot, on another platform.
 */
const rich: RunningImage = {
  schematic: schematicOf({
    extensions: six,
    kernelArgs: ["intel_iommu=on", "iommu=pt", 'nvidia.NVreg_A="b; c"', "talos.platform=a"],
    overlay, // two of the arguments have no effect
  }).yaml,
  extensions: { "iscsi-tools": "v0.2.0", schematic: "abc" },
  configuredArgs: [],
  platform: "nocloud",
  secureBoot: true,
};
const gpu = [
  "siderolabs/nvidia-container-toolkit-production",
  "siderolabs/nvidia-open-gpu-kernel-modules-production",
];
const next = (
  more: Partial<NextImage> & { platform?: string; secureBoot?: boolean } = {},
): NextImage => ({
  extensions: gpu,
  kernelArgs: [],
  gpu: true,
  installer: installerImage("a".repeat(64), "v1.12.6", more),
  ...more,
});
const lost = (running: RunningImage, image: NextImage, drop?: DropSpec): Record<string, string> =>
  Object.fromEntries(
    losses("gpu-1", running, image, drop).map(({ field, problem }) => [
      field.replace("machines.gpu-1.", ""),
      problem,
    ]),
  );

describe("a machine that is taken over", () => {
  test("would lose all parts that the stack does not list, and each is named", () => {
    const found = lost(rich, next());
    expect(Object.keys(found).sort()).toEqual([
      "extensions",
      "kernelArgs",
      "overlay",
      "platform",
      "secureBoot",
    ]);
    for (const name of six) expect(found["extensions"]).toContain(name);
    expect(found["extensions"]).toContain("siderolabs/iscsi-tools v0.2.0");
    expect(found["kernelArgs"]).toContain("intel_iommu=on iommu=pt");
    expect(found["overlay"]).toContain("turingrk1 of siderolabs/sbc-rockchip");
    expect(found["platform"]).toContain("nocloud");
  });

  test("loses nothing if the stack lists all parts", () => {
    const all = next({
      extensions: [...six, ...gpu],
      kernelArgs: ["iommu=pt", "intel_iommu=on"],
      overlay,
      platform: "nocloud",
      secureBoot: true,
    });
    expect(lost(rich, all)).toEqual({});
  });

  test("may lose all parts under drop, but not Secure Boot", () => {
    const drop = {
      extensions: ["iscsi-tools", ...six.slice(0, 2), ...six.slice(3)],
      kernelArgs: ["intel_iommu=on", "iommu=pt"],
      overlay: true,
      platform: true,
    };
    expect(Object.keys(lost(rich, next(), drop))).toEqual(["secureBoot"]);
  });

  test("would lose only extensions if Omni makes its image", () => {
    const { installer: _installer, ...byOmni } = next();
    expect(Object.keys(lost(rich, byOmni))).toEqual(["extensions"]);
  });
});

test.each<[string, string[], boolean, string[]]>([
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
])("%s", (_title, extensions, withCard, named) => {
  const running = {
    schematic: schematicOf({ extensions, kernelArgs: [] }).yaml,
    extensions: {},
    configuredArgs: [],
  };
  const found =
    lost(running, next({ gpu: withCard, ...(withCard ? {} : { extensions: [] }) }))["extensions"] ??
    "";
  expect(named.filter((name) => found.includes(name))).toEqual(named);
  if (named.length === 0) expect(found).toBe("");
});

describe("the driver that follows from the card because the stack sets none", () => {
  const runs = (...extensions: string[]): RunningImage => ({
    schematic: schematicOf({ extensions, kernelArgs: [] }).yaml,
    extensions: {},
    configuredArgs: [],
  });
  const proprietary = runs("siderolabs/nonfree-kmod-nvidia", "siderolabs/nvidia-container-toolkit");
  const both = next({ unnamedDriver: ["branch", "flavour"] });

  test("is refused if another driver runs, and the remedy keeps or changes it", () => {
    const [found, ...others] = losses("gpu-1", proprietary, both);
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      field: "machines.gpu-1.driver",
      problem: expect.stringMatching(/branch lts with proprietary.*branch production with open/),
      remedy: expect.stringMatching(
        /to \{branch: lts, flavour: proprietary\} to keep.*\{branch: production, flavour: open\} to change/,
      ),
    });
  });

  test("is compared only in the fields that the stack leaves out", () => {
    const [found] = losses("gpu-1", proprietary, next({ unnamedDriver: ["flavour"] }));
    expect(found?.remedy).toMatch(/to \{flavour: proprietary\} to keep/);
    const open = runs("siderolabs/nvidia-open-gpu-kernel-modules-lts");
    expect(lost(open, next({ unnamedDriver: ["flavour"] }))).toEqual({});
  });

  test("is accepted if it already runs, if no driver runs, or if the running driver is unknown", () => {
    expect(lost(runs(...gpu), both)).toEqual({});
    expect(lost(runs(), both)).toEqual({});
    expect(lost({ extensions: {}, configuredArgs: [] }, both)).toEqual({});
  });

  test("is also compared with the running driver if no Image Factory made the image", () => {
    const image = {
      extensions: { "nonfree-kmod-nvidia-lts": "535.247.01-v1.12.6" },
      configuredArgs: [],
    };
    expect(Object.keys(lost(image, both))).toEqual(["driver"]);
  });
});

describe("a machine that boots by GRUB", () => {
  const schematic = schematicOf({ extensions: [], kernelArgs: ["pci=realloc", "iommu=pt"] }).yaml;
  const byGrub = (commandLine: string, bootArgs: string[] = []): RunningImage => ({
    schematic,
    extensions: {},
    commandLine: `BOOT_IMAGE=/A/vmlinuz talos.platform=metal ${commandLine}`,
    configuredArgs: bootArgs,
    bootArgs,
    platform: "metal",
  });

  test("does not lose arguments of the image that the kernel started without", () => {
    expect(lost(byGrub("console=tty0"), next())).toEqual({});
    expect(lost(byGrub("iommu=pt", ["iommu=pt"]), next())).toEqual({});
  });

  test("gets a remedy that keeps a lost argument, by machine.install.extraKernelArgs, or drops it", () => {
    const [found] = losses("gpu-1", byGrub("pci=realloc"), next());
    expect(found?.problem).toMatch(/started with pci=realloc,/);
    expect(found?.remedy).toMatch(
      /^write them to machine\.install\.extraKernelArgs .*machines\.gpu-1\.drop\.kernelArgs/,
    );
  });
});

describe("an image that no Image Factory made", () => {
  const stock: RunningImage = {
    extensions: { "iscsi-tools": "v0.2.0", "v4l-uvc": "1", "modules.dep": "6.18.1-talos" },
    commandLine:
      "BOOT_IMAGE=/A/vmlinuz talos.platform=metal console=tty0 init_on_alloc=1 slab_nomerge= pti=on consoleblank=0 nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1 module.sig_enforce=1 proc_mem.force_override=never pci=noaer intel_iommu=on",
    configuredArgs: ["pci=noaer"],
    platform: "metal",
    secureBoot: false,
  };

  test("would lose the extensions in its manifests and the arguments of its command line", () => {
    expect(runningExtensions(stock)).toEqual([
      "siderolabs/iscsi-tools",
      "siderolabs/v4l-uvc-drivers",
    ]);
    expect(runningKernelArgs(stock)).toEqual(["intel_iommu=on"]);
    expect(Object.keys(lost(stock, next()))).toEqual(["extensions", "kernelArgs"]);
  });

  test("loses nothing if it has no extensions and no arguments", () => {
    expect(lost({ extensions: {}, configuredArgs: [] }, next())).toEqual({});
  });
});

test("an embedded configuration cannot be kept, and drop must have it", () => {
  const schematic =
    "customization:\n    embeddedMachineConfiguration: |\n        kind: HostnameConfig\n";
  const running = { schematic, extensions: {}, configuredArgs: [] };
  expect(Object.keys(lost(running, next()))).toEqual(["drop"]);
  expect(lost(running, next(), { embeddedMachineConfiguration: true })).toEqual({});
});

describe("a schematic", () => {
  test("has the same content when it is read back", () => {
    const content = { extensions: six, kernelArgs: ["iommu=pt"], overlay };
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
])("the name of the installer %s tells its platform and Secure Boot", (image, kind) =>
  expect(installerKind(image)).toEqual(kind),
);

test("an image of another program is no installer", () =>
  expect(installerKind("docker.io/library/busybox:1.37")).toBeUndefined());
