import * as semver from "semver";
import { parse } from "yaml";
import { cardsOf } from "../../../cli/discover/cards";
import { labelManagers } from "../../../cli/discover/labels";
import { releasesOf } from "../../../cli/discover/releases";
import { renderDiscovered } from "../../../cli/discover/render";
import type { PciDevice, Seen, SeenMachine } from "../../../cli/discover/seen";
import { stackOf } from "../../../cli/discover/stack-of";
import { charts } from "../../../components/recipe/facts/data/charts";
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
  expect(spec).toMatchObject({ talosVersion: "v1.12.6" });
  expect(spec.external).toEqual({ kind: "gpuOperator", version: "v25.10.1", namespace: "gpu" });
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

test("what a stack of this package installed stays the stack's; what somebody else did stays theirs", () => {
  const ours = machine({ labelManagers: { "nvidia.com/gpu.deploy.operator-validator": ["talos-gpu-0123456789ab"] } });
  expect(stackOf(seen({ machines: [ours], releases: [release] })).spec.gpuOperator).toMatchObject({
    version: "v25.10.1",
  });
  const { spec, comments } = stackOf(seen({ machines: [ours], releases: [{ ...release, by: "Flux" }] }));
  expect(spec).not.toHaveProperty("gpuOperator");
  expect(comments["external"]!.join()).toContain("name the files that Flux has it from");
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

// image-factory, internal/profile/profile.go: a name without a branch is that of lts.
test.each([
  ["siderolabs/nonfree-kmod-nvidia", { branch: "lts", flavour: "proprietary" }],
  ["siderolabs/nvidia-open-gpu-kernel-modules", { branch: "lts", flavour: "open" }],
])("%s, a name without a branch, is that of lts", (name, driver) => {
  const image = { schematic: schematic([name]), extensions: {}, configuredArgs: [] };
  const { spec } = stackOf(seen({ machines: [machine({ image })] }));
  expect(spec.driver).toEqual(driver);
  expect(spec.machines["gpu-1"]).not.toHaveProperty("extensions");
});

test("machines of several drivers say each its own", () => {
  const of = (name: string, branch: string) => {
    const image = { schematic: schematic([`siderolabs/nonfree-kmod-nvidia-${branch}`]), extensions: {} };
    return machine({ name, address: `192.0.2.${name.length}`, image: { ...image, configuredArgs: [] } });
  };
  const { spec } = stackOf(seen({ machines: [of("a", "lts"), of("bb", "production"), machine()] }));
  expect(spec.driver).toBeUndefined();
  expect(Object.values(spec.machines).map(({ driver }) => driver?.branch)).toEqual(["lts", "production", undefined]);
});

describe("labels that somebody keeps are comments", () => {
  const said = (labels: Record<string, string>, labelManagers?: Record<string, string[]>) => {
    const one = machine({ labels, ...(labelManagers === undefined ? {} : { labelManagers }) });
    const { spec, comments } = stackOf(seen({ machines: [one] }));
    return { labels: spec.machines["gpu-1"]?.labels, comments: comments["machines.gpu-1"]!.join("\n") };
  };

  test.each([
    ["kubectl-label", true],
    ["kubectl-client-side-apply", true],
    ["talos-gpu-0123456789ab", true],
    ["Talos", false],
    ["longhorn-manager", false],
  ])("%s", (manager, taken) => {
    const { labels, comments } = said({ rack: "b2" }, { rack: [manager] });
    expect(labels).toEqual(taken ? { rack: "b2" } : undefined);
    expect(comments.includes(`${manager} keeps the label rack=b2: write it under labels only if`)).toBe(!taken);
  });

  test("one that somebody set by hand, too, is taken", () => {
    expect(said({ rack: "b2" }, { rack: ["Talos", "kubectl-label"] }).labels).toEqual({ rack: "b2" });
  });

  test("without managers they are taken, but for those of upgrade controllers", () => {
    expect(said({ rack: "b2", "plan.upgrade.cattle.io/os": "d41d8c" }).labels).toEqual({ rack: "b2" });
  });

  test("managers are read off the object's fields", () => {
    const fieldsV1 = { "f:metadata": { "f:labels": { ".": {}, "f:rack": {}, "f:example.org/use": {} } } };
    expect(
      labelManagers([{ manager: "Talos", fieldsV1 }, { manager: "kubelet" }, { manager: "kubectl-label", fieldsV1 }]),
    ).toEqual({ rack: ["Talos", "kubectl-label"], "example.org/use": ["Talos", "kubectl-label"] });
  });
});

test("a second taint of a key is a comment, since a stack can say one", () => {
  const taints = ["gpu=true:NoSchedule", "gpu=true:NoExecute"];
  const { spec, comments } = stackOf(seen({ machines: [machine({ taints })] }));
  expect(spec.machines["gpu-1"]?.taints).toEqual({ gpu: "true:NoSchedule" });
  expect(comments["machines.gpu-1"]?.join()).toContain("it has the taint gpu=true:NoExecute too");
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
  const [version] = semver.rsort(charts.filter(({ chart }) => chart === "gpu-operator").map((chart) => chart.version));
  expect([spec.gpuOperator, spec.devicePlugin, findings]).toEqual([{ version }, undefined, []]);
  expect(Object.values(comments).flat().join()).toContain("nothing offers GPUs yet");
});

test("where something unknown offers GPUs, that has to go first", () => {
  const { comments } = stackOf(seen({ machines: [machine({ offers: ["nvidia.com/gpu"] })] }));
  const text = Object.values(comments).flat().join();
  expect(text).toContain("something offers nvidia.com/gpu on gpu-1 already, and it is none of NVIDIA's charts");
  expect(text).not.toContain("nothing offers GPUs yet");
});

describe("what offers GPUs", () => {
  const workload = (metadata: object, image = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1") => ({
    metadata: { namespace: "kube-system", ...metadata },
    spec: { selector: {}, template: { spec: { containers: [{ name: "main", image }] } } },
  });
  const chart = { "helm.sh/chart": "nvidia-device-plugin-0.18.2", "app.kubernetes.io/managed-by": "Helm" };
  const owner = { apiVersion: "nvidia.com/v1", kind: "ClusterPolicy", name: "cluster-policy", uid: "1" };
  const plugin = { chart: "nvidia-device-plugin", namespace: "kube-system" };
  const labels = { ...chart, "app.kubernetes.io/instance": "nvdp" };
  const annotations = { "meta.helm.sh/release-name": "nvdp" };
  const helms = { ...plugin, version: "0.18.2", name: "nvdp" };
  const fluxs = { ...labels, "helm.toolkit.fluxcd.io/name": "nvdp" };

  test.each([
    ["a chart", { labels, annotations }, undefined, helms],
    ["a chart by Flux", { labels: fluxs, annotations }, undefined, { ...helms, by: "Flux" }],
    ["a chart by Argo CD, by its label", { labels }, undefined, { ...helms, by: "Argo CD" }],
    [
      "NVIDIA's manifest by Argo CD, by its annotation",
      { annotations: { "argocd.argoproj.io/tracking-id": "gpu:apps/DaemonSet:kube-system/nvdp" } },
      undefined,
      { ...plugin, version: "0.17.1", by: "Argo CD" },
    ],
    [
      "NVIDIA's manifest without Helm",
      { name: "nvidia-device-plugin-daemonset" },
      undefined,
      { ...plugin, version: "0.17.1" },
    ],
    ["the same from a mirror, by digest", {}, "mirror.local/k8s-device-plugin@sha256:0123", plugin],
    ["the operator's own DaemonSet is the operator's", { ownerReferences: [owner] }, undefined, undefined],
    ["another DaemonSet", {}, "quay.io/cilium/cilium:v1.18.0", undefined],
  ])("%s", (_, metadata, image, found) => {
    expect(releasesOf([workload(metadata, image)])).toEqual(found === undefined ? [] : [found]);
  });
});

test("the file says what is left in comments, and reads back as the stack", () => {
  const discovered = stackOf(seen({ releases: [release] }));
  const text = renderDiscovered(discovered, ["machine gpu-2 was not looked at"], "https://192.0.2.1:6443");
  const { config } = parse(text) as { config: Record<string, unknown> };
  expect(config["talos-gpu:machines"]).toEqual(discovered.spec.machines);
  expect(text).toContain("# - machine gpu-2 was not looked at");
  expect(text).toMatch(/# runs v1\.12\.6\n/);
  expect(text).toContain("helm -n gpu get values gpu-operator");
});
