import { parse } from "yaml";
import { cardsOf } from "../../../cli/discover/cards";
import { renderDiscovered } from "../../../cli/discover/render";
import type { PciDevice, Seen, SeenMachine } from "../../../cli/discover/seen";
import { stackOf } from "../../../cli/discover/stack-of";
import { containerdPart } from "../../../components/recipe/machine/containerd/containerd";
import { schematicOf } from "../../../components/recipe";

const card = (product?: string, productId = "0x2c05"): PciDevice => ({
  classId: "0x03",
  subclassId: "0x00",
  vendorId: "0x10de",
  productId,
  ...(product === undefined ? {} : { product }),
});

const schematic = (extensions: string[], kernelArgs: string[] = []): string =>
  schematicOf({ extensions, kernelArgs }).yaml;

const machine = (more: Partial<SeenMachine> = {}): SeenMachine => ({
  name: "gpu-1",
  address: "192.0.2.31",
  controlPlane: false,
  talosVersion: "v1.12.6",
  image: {
    schematic: schematic(["siderolabs/iscsi-tools"], ["intel_iommu=on"]),
    extensions: {},
    configuredArgs: [],
    platform: "nocloud",
    secureBoot: true,
  },
  devices: [card("GB203 [GeForce RTX 5070 Ti]"), { vendorId: "0x8086", classId: "0x03", product: "Iris" }],
  labels: {
    ...{ rack: "b2", "example.org/use": "ai" },
    ...{ "kubernetes.io/arch": "amd64", "nvidia.com/gpu.count": "1", "talos-gpu/power-limit": "250w" },
  },
  taints: ["gpu=true:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"],
  containerdPart: "",
  ...more,
});
const seen = (more: Partial<Seen> = {}): Seen => ({ machines: [machine()], releases: [], unseen: [], ...more });
const release = { chart: "gpu-operator", version: "v25.10.1", name: "gpu-operator", namespace: "gpu" } as const;

test("a machine is said as it is: image, card, labels and taints of somebody's own", () => {
  const { spec, findings } = stackOf(seen({ releases: [release] }));
  expect(spec).toMatchObject({ talosVersion: "v1.12.6", gpuOperator: { version: "v25.10.1", namespace: "gpu" } });
  expect(spec.machines).toEqual({
    "gpu-1": {
      address: "192.0.2.31",
      role: "worker",
      configuration: "adopted",
      gpus: [{ model: "RTX 5070 Ti" }],
      extensions: ["siderolabs/iscsi-tools"],
      kernelArgs: ["intel_iommu=on"],
      platform: "nocloud",
      secureBoot: true,
      labels: { rack: "b2", "example.org/use": "ai" },
      taints: { gpu: "true:NoSchedule" },
    },
  });
  expect(findings).toEqual([]);
});

test("a machine of Omni's is told by its kernel arguments; platform, arguments and Secure Boot stay Omni's", () => {
  const uuid = "919108f7-52d1-4320-9bac-f847db4148a8";
  const image = { ...machine().image!, schematic: schematic(["siderolabs/zfs"], ["siderolink.api=grpc://192.0.2.2"]) };
  const { spec } = stackOf(seen({ machines: [machine({ image, uuid, clusterName: "frank" })] }));
  expect(spec.clusterName).toBe("frank");
  expect(spec.machines["gpu-1"]).toMatchObject({ configuration: "omni", uuid, extensions: ["siderolabs/zfs"] });
  for (const field of ["platform", "kernelArgs", "secureBoot"])
    expect(spec.machines["gpu-1"]).not.toHaveProperty(field);
});

test("NVIDIA's extensions of a machine with a card become the driver's branch and flavour", () => {
  const extensions = [
    "siderolabs/nonfree-kmod-nvidia-lts",
    "siderolabs/nvidia-container-toolkit-lts",
    "siderolabs/zfs",
  ];
  const image = { schematic: schematic(extensions), extensions: {}, configuredArgs: [] };
  const { spec } = stackOf(seen({ machines: [machine({ image })] }));
  expect(spec.driver).toEqual({ branch: "lts", flavour: "proprietary" });
  expect(spec.machines["gpu-1"]?.extensions).toEqual(["siderolabs/zfs"]);
});

test("the stack's release is the newest; an older machine says its own", () => {
  const machines = [machine(), machine({ name: "gpu-2", address: "192.0.2.32", talosVersion: "v1.11.5" })];
  const { spec } = stackOf(seen({ machines }));
  expect([spec.talosVersion, spec.machines["gpu-2"]?.runningVersion]).toEqual(["v1.12.6", "v1.11.5"]);
});

test("containerd's options are told by what they make; another part is a comment", () => {
  const options = { nvidiaDefaultRuntime: true, baseRuntimeSpec: true, cdiSpecDirs: ["/var/cdi/static"] };
  const part = containerdPart(options, "legacy").toml!;
  expect(stackOf(seen({ machines: [machine({ containerdPart: part })] })).spec.machines["gpu-1"]?.containerd).toEqual(
    options,
  );
  const foreign = stackOf(seen({ machines: [machine({ containerdPart: "[debug]\nlevel = 'debug'\n" })] }));
  expect(foreign.spec.machines["gpu-1"]).not.toHaveProperty("containerd");
  expect(foreign.comments["machines.gpu-1"]?.join()).toContain("20-customization.part");
});

test.each([
  [
    "several of a kind are counted",
    [card("GA102 [GeForce RTX 3090]", "0x2204"), card("GA102 [GeForce RTX 3090]", "0x2204")],
    [{ model: "RTX 3090", count: 2 }],
    0,
  ],
  ["a name that may be two cards is told", [card("GA107GL [A2 / A16]", "0x25b6")], [{ model: "A2" }], 1],
  ["one younger than the release's list is told by its ID", [card(undefined, "0x2c05")], [{ model: "RTX 5070 Ti" }], 0],
  [
    "one with an ID that no list has is told by its name",
    [card("GA102 [GeForce RTX 3090]", "0x2fff")],
    [{ model: "RTX 3090" }],
    0,
  ],
  ["one younger than both lists has only its ID", [card(undefined, "0x2fff")], [{ model: "unknown" }], 1],
  [
    "audio, bridges and other vendors are no cards",
    [{ ...card("GB203 High Definition Audio"), classId: "0x04" }],
    [],
    0,
  ],
])("cards: %s", (_, devices, gpus, notes) => {
  const found = cardsOf(devices);
  expect(found.gpus).toEqual(gpus);
  expect(found.notes).toHaveLength(notes);
});

test("where nothing offers GPUs, the newest release that fits is proposed", () => {
  const { spec, comments, findings } = stackOf(seen());
  expect(spec.gpuOperator ?? spec.devicePlugin).toBeDefined();
  expect(findings).toEqual([]);
  expect(Object.values(comments).flat().join()).toContain("nothing offers GPUs yet");
});

test("the file says what is left in comments, and reads back as the stack", () => {
  const discovered = stackOf(seen({ releases: [release] }));
  const text = renderDiscovered(discovered, ["machine gpu-2 was not looked at"], "https://192.0.2.1:6443");
  const { config } = parse(text) as { config: Record<string, unknown> };
  expect(config["talos-gpu:machines"]).toEqual(discovered.spec.machines);
  expect(text).toContain("# - machine gpu-2 was not looked at".replace("# -", "# -"));
  expect(text).toMatch(/# runs v1\.12\.6\n/);
  expect(text).toContain("helm -n gpu uninstall gpu-operator");
});
