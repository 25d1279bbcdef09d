import { convert } from "../../../cli/import/convert";
import { readTalconfig } from "../../../cli/import/talconfig";

// What a talconfig means to talhelper, where that is not what one would read in it.

const gpu = { gpu: [{ model: "RTX 3090" }] };
const nodes = (...list: object[]) =>
  readTalconfig(JSON.stringify({ nodes: list.map((node, index) => ({ ipAddress: `10.0.0.${index + 1}`, ...node })) }));
const read = (text: string) =>
  convert(readTalconfig(`nodes:\n  - hostname: gpu\n    ipAddress: 10.0.0.1\n${text}`), gpu);

test.each(["patches", "nodeLabels", "nodeTaints", "kernelModules", "schematic", "machineSpec", "talosImageURL"])(
  "%s of null says nothing, in a node as in its role",
  (field) => {
    const without = read("").spec;
    expect(read(`    ${field}:\n`).spec).toEqual(without);
    expect(read(`worker:\n  ${field}:\n`).spec).toEqual(without);
  },
);

test("patches of null for all nodes, and parts of a schematic", () => {
  expect(read("patches:\ntalosVersion:\nimageFactory:\n").spec).toEqual(read("").spec);
  const schematic = "    schematic: {customization: {extraKernelArgs: null, systemExtensions: null}}\n";
  expect(read(schematic).spec).toEqual(read("").spec);
});

test.each([
  ["in a field", "    nodeLabels: {a: , b: 1}\n    nodeTaints: {gpu: NoSchedule, x: 'y:NoExecute'}\n"],
  [
    "in a patch",
    "    patches:\n      - 'machine: {nodeLabels: {a: , b: 1}, nodeTaints: {gpu: NoSchedule, x: \"y:NoExecute\"}}'\n",
  ],
])("a label of null is empty, a taint without a colon is the effect: %s", (_, text) => {
  expect(read(text).spec.machines.gpu).toMatchObject({
    labels: { a: "", b: "1" },
    taints: { gpu: ":NoSchedule", x: "y:NoExecute" },
  });
});

test("labels and taints of the patches for all nodes come last", () => {
  const { spec } = read(
    "    nodeLabels: {a: node, b: node}\npatches:\n  - 'machine: {nodeLabels: {a: all}, nodeTaints: {gpu: NoSchedule}}'\n",
  );
  expect(spec.machines.gpu).toMatchObject({ labels: { a: "all", b: "node" }, taints: { gpu: ":NoSchedule" } });
  expect(spec).not.toHaveProperty("patches");
});

test("labels and taints that talhelper fills in are told", () => {
  const { spec, notes } = read("    nodeLabels: {a: '{{ .X }}', b: c}\n    nodeTaints: {t: '${T}:NoSchedule'}\n");
  expect(spec.machines.gpu?.labels).toEqual({ b: "c" });
  expect(spec.machines.gpu).not.toHaveProperty("taints");
  expect(notes.map(({ field, problem }) => `${field} ${problem}`)).toEqual(
    expect.arrayContaining([
      "machines.gpu.labels.a holds a template of talhelper's",
      "machines.gpu.taints.t holds a variable of talhelper's",
    ]),
  );
});

test("nodes of different drivers say each its own", () => {
  const image = (branch: string): object => ({
    customization: { systemExtensions: { officialExtensions: [`siderolabs/nvidia-container-toolkit-${branch}`] } },
  });
  const config = nodes({ hostname: "a", schematic: image("lts") }, { hostname: "b", schematic: image("production") });
  const { spec } = convert(config, {});
  expect([spec.driver, spec.machines.a?.driver, spec.machines.b?.driver]).toEqual([
    undefined,
    { branch: "lts" },
    { branch: "production" },
  ]);
});

test("names without a branch are those of lts, and the fabric manager's comes along", () => {
  const officialExtensions = ["siderolabs/nonfree-kmod-nvidia", "siderolabs/nvidia-fabricmanager"];
  const schematic = { customization: { systemExtensions: { officialExtensions } } };
  const { spec } = convert(nodes({ hostname: "gpu", schematic }), {});
  expect(spec.driver).toEqual({ branch: "lts", flavour: "proprietary" });
  expect(spec.machines.gpu?.extensions).toEqual(["siderolabs/nvidia-fabricmanager-lts"]);
});

// talhelper, pkg/talos/nodeconfig.go, installerURL: of the node with its role's settings.
test("the image's URL goes before a schematic, whichever of node and role says it", () => {
  const talosImageURL = `factory.talos.dev/nocloud-installer/${"2".repeat(64)}`;
  const customization = { systemExtensions: { officialExtensions: ["siderolabs/zfs"] } };
  const overlay = { image: "siderolabs/sbc-rockchip", name: "turingrk1" };
  const config = { ...nodes({ hostname: "gpu", schematic: { customization, overlay } }), worker: { talosImageURL } };
  const { spec, notes } = convert(config, gpu);
  expect(spec.machines.gpu).toMatchObject({ platform: "nocloud" });
  for (const field of ["extensions", "overlay"]) expect(spec.machines.gpu).not.toHaveProperty(field);
  expect(notes.map(({ problem }) => problem).join()).toContain("what is in schematic 222222222222…");
});
