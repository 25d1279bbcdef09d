import { parse } from "yaml";
import { planCluster, type ClusterSpec, type MachineRecipe, type MachineSpec } from "../../../components/recipe/index";
import { effectOf, machineState } from "../../../components/recipe/effect";
import { plannedMachines } from "../../../components/recipe/machine/planned-machine";
import { oneMachine } from "../stacks";

const recipe = (
  talosVersion: string,
  machine: Partial<MachineSpec>,
  more: Partial<ClusterSpec> = {},
): MachineRecipe => {
  const found = planCluster(oneMachine(talosVersion, machine, more)).machines[0];
  if (!found) throw new Error("no machine");
  return found;
};

/** Our own patch: the last one. */
const own = ({ patches }: MachineRecipe): any => parse(patches.at(-1) ?? "");

describe("driver", () => {
  test.each([
    // card, Talos, driver block, extensions without prefix, driver
    ["RTX 5070 Ti", "v1.11.5", {}, "nvidia-open-gpu-kernel-modules-production", "570.172.08"],
    ["H100 NVL", "v1.12.6", { branch: "lts" }, "nvidia-open-gpu-kernel-modules-lts", "580.126.20"],
    ["GTX 1080 Ti", "v1.12.6", {}, "nonfree-kmod-nvidia-production", "570.211.01"],
    ["GTX 1080 Ti", "v1.13.9", {}, "nonfree-kmod-nvidia-lts", "580.178.04"],
    ["V100", "v1.14.0", {}, "nonfree-kmod-nvidia-lts", "580.178.04"],
    ["RTX 3090", "v1.10.9", { flavour: "proprietary" }, "nonfree-kmod-nvidia-production", "570.148.08"],
    ["T4", "v1.11.1", { branch: "lts" }, "nvidia-open-gpu-kernel-modules-lts", "535.247.01"],
    ["GB10", "v1.13.9", {}, "nonfree-kmod-nvidia-production", "595.91.07"],
    ["GB10", "v1.12.6", {}, "nonfree-kmod-nvidia-lts", "580.126.20"],
  ] as const)("%s on %s %j: %s, %s", (model, talosVersion, driver, modules, version) => {
    const machine = recipe(talosVersion, { gpus: [{ model }] }, { driver });
    const branch = modules.endsWith("lts") ? "lts" : "production";
    expect(machine.extensions).toEqual(
      [`siderolabs/nvidia-container-toolkit-${branch}`, `siderolabs/${modules}`].sort(),
    );
    expect(machine.driverVersion).toBe(version);
  });

  test("extensions of the user: their NVIDIA ones take the place of ours, all sorted, none twice", () => {
    const extensions = [
      "siderolabs/zfs",
      "siderolabs/nvidia-container-toolkit-lts",
      "siderolabs/nvidia-open-gpu-kernel-modules-lts",
      "siderolabs/zfs",
    ];
    const machine = recipe("v1.12.6", { gpus: [{ model: "L4" }], extensions });
    expect(machine.extensions).toEqual([
      "siderolabs/nvidia-container-toolkit-lts",
      "siderolabs/nvidia-open-gpu-kernel-modules-lts",
      "siderolabs/zfs",
    ]);
    expect(machine.driverVersion).toBe("580.126.20");
  });

  test("a machine without a GPU gets nothing of NVIDIA's", () => {
    const machine = recipe("v1.12.6", { extensions: ["siderolabs/iscsi-tools"] });
    expect(machine).toMatchObject({
      gpuCount: 0,
      extensions: ["siderolabs/iscsi-tools"],
      kernelModules: [],
      sysctls: {},
      nodeLabels: {},
      extensionServices: [],
      allocatable: {},
    });
    expect(machine.driverVersion).toBeUndefined();
    expect(own(machine)).toEqual({ machine: { install: { image: machine.installerImage } } });
  });
});

test("Talos 1.14: modules stay under machine.kernel, which the provider can merge", () => {
  expect(own(recipe("v1.14.0", { gpus: [{ model: "L4" }] })).machine.kernel.modules).toHaveLength(4);
});

describe("HGX boards", () => {
  const extensions = (gpus: { model: string; count: number }[], own: string[] = []): string[] =>
    recipe("v1.13.9", { gpus, extensions: own }).extensions;
  const manager = "siderolabs/nvidia-fabricmanager-production";

  test.each(["NVIDIA H100 80GB HBM3", "H200", "A100-SXM4-80GB", "B200"])("8 x %s get the fabric manager", (model) => {
    expect(extensions([{ model, count: 8 }])).toContain(manager);
    expect(recipe("v1.13.9", { gpus: [{ model, count: 8 }] }).extensionServices).toContainEqual({
      name: "ext-nvidia-fabricmanager",
      state: "Running",
    });
  });

  test("others do not, and a manager that the stack names stays the only one", () => {
    expect(extensions([{ model: "H100 80GB HBM3", count: 4 }])).not.toContain(manager);
    expect(extensions([{ model: "H100 NVL", count: 8 }])).not.toContain(manager);
    const own = extensions([{ model: "H200", count: 8 }], [manager]);
    expect(own.filter((name) => name.includes("fabricmanager"))).toEqual([manager]);
  });
});

test("Omni's machines of Talos 1.14 register without taints: a KubeletConfig may be there", () => {
  const omni: Parameters<typeof recipe>[1] = {
    configuration: "omni",
    uuid: "u",
    taints: { gpu: "true:NoSchedule" },
    gpus: [{ model: "L4" }],
  };
  expect(recipe("v1.14.0", omni).patches.join()).not.toContain("registerWithTaints");
  expect(recipe("v1.13.9", omni).patches.join()).toContain("registerWithTaints");
});

describe("our patch", () => {
  test("comes last, after the cluster's and the machine's", () => {
    const cluster = "machine:\n  time: { servers: [a] }\n";
    const mine = "machine:\n  time: { servers: [b] }\n";
    expect(
      recipe("v1.12.6", { gpus: [{ model: "L4" }], patches: [mine] }, { patches: [cluster] }).patches.slice(0, 2),
    ).toEqual([cluster, mine]);
  });

  test("leaves a module to the patch that already declares it with its parameters", () => {
    const patches = [
      "machine:\n  kernel:\n    modules:\n      - name: nvidia\n        parameters: [NVreg_EnableGpuFirmware=0]\n",
    ];
    const machine = recipe("v1.12.6", { gpus: [{ model: "L4" }], patches });
    const names = (modules: { name: string }[]): string[] => modules.map(({ name }) => name);
    expect(names(own(machine).machine.kernel.modules)).toEqual(["nvidia_uvm", "nvidia_drm", "nvidia_modeset"]);
    // Whoever declares it: it is loaded on a machine with a card.
    expect(names(machine.kernelModules)).toEqual(["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"]);
  });
});

describe("cards that need more", () => {
  test("GB10: a kernel argument in the schematic, after the user's", () => {
    expect(
      parse(recipe("v1.13.9", { gpus: [{ model: "GB10" }], kernelArgs: ["quiet"] }).schematic).customization
        .extraKernelArgs,
    ).toEqual(["quiet", "arm64.nobti"]);
  });

  test("B200: InfiniBand's user MAD", () => {
    expect(recipe("v1.13.9", { gpus: [{ model: "B200", count: 8 }] }).kernelModules.map(({ name }) => name)).toContain(
      "ib_umad",
    );
  });
});

test("taints are taken apart", () => {
  expect(
    recipe("v1.12.6", { taints: { gpu: "true:NoSchedule", drained: ":NoExecute", odd: "true" } }).nodeTaints,
  ).toEqual([
    { key: "drained", effect: "NoExecute" },
    { key: "gpu", value: "true", effect: "NoSchedule" },
  ]);
});

test("an unknown release or card leaves a plan that can be checked", () => {
  expect(recipe("v9.9", { gpus: [{ model: "Voodoo 2" }] })).toMatchObject({ gpuCount: 1, era: "legacy" });
});

describe("an installer image of one's own", () => {
  const installerImage = "registry.example.com/talos/installer:v1.13.6-nvidia-2";
  const spec = oneMachine("v1.13.6", { installerImage, gpus: [{ model: "RTX 3090" }] });
  const plan = planCluster(spec);
  const [machine] = plan.machines;

  test("takes the Factory's place, and of the driver the branch alone can be told", () => {
    expect(own(machine!).machine.install).toEqual({ image: installerImage });
    expect(machine).toMatchObject({ installerImage, ownImage: true, driverBranch: expect.stringMatching(/^\d+$/) });
    expect(machine!.extensionServices).toEqual(recipe("v1.13.6", { gpus: [{ model: "RTX 3090" }] }).extensionServices);
    expect(plan.notes).toContainEqual(
      expect.stringMatching(/^machines\.\S+\.installerImage: .* must have siderolabs\/nvidia-.*, siderolabs\/nvidia-/),
    );
  });

  test("reboots the machine when it changes", () => {
    const stateOf = (image: string) => {
      const named = oneMachine("v1.13.6", { installerImage: image, gpus: [{ model: "RTX 3090" }] });
      return machineState(plannedMachines(planCluster(named))[0]!);
    };
    const effect = effectOf(stateOf(installerImage), stateOf(`${installerImage}b`));
    expect(effect).toMatchObject({ reboots: "yes", because: expect.stringMatching(/installerImage: .*-2 → .*-2b/) });
  });
});
