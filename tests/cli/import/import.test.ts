import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { checkCluster, parseSpec, type Finding } from "../../../components/recipe/index";
import { convert, type Imported } from "../../../cli/import/convert";
import { nvidiaPart } from "../../../cli/import/patch";
import { renderStack } from "../../../cli/import/render";
import { readTalconfig, type Talconfig } from "../../../cli/import/talconfig";

const fixture = fs.readFileSync(path.join(__dirname, "../../fixtures/talhelper/talconfig.yaml"), "utf8");
const card = { velaryon: [{ model: "RTX 2070 SUPER" }] };

function checked({ spec }: Imported): Finding[] {
  const { spec: parsed, findings } = parseSpec(spec);
  return [...findings, ...(parsed ? checkCluster(parsed) : [])];
}
const nodes = (...list: object[]): Talconfig =>
  readTalconfig(
    JSON.stringify({
      talosVersion: "1.11.5",
      nodes: list.map((node, index) => ({ ipAddress: `10.0.0.${index + 1}`, ...node })),
    }),
  );
const fieldsOf = ({ notes }: Imported): string[] => notes.map(({ field }) => field);

test.each([
  ["nothing", ""],
  ["a web page", "<!DOCTYPE html><html><body>Login</body></html>"],
  ["a list", "[]"],
  ["tabs", "nodes:\n\t- hostname: a\n"],
  ["two documents", "nodes: []\n---\nnodes: []\n"],
  ["what is encrypted", "nodes: ENC[AES256_GCM,data:abc]\n"],
  ["more aliases than anybody writes", laughs()],
])("%s is refused, in one line that says what, why and how", (_, text) => {
  expect(() => readTalconfig(text)).toThrow(
    /^\S+: [^\n]+; it is not a talconfig\.yaml of talhelper's, .+; name that file[^\n]*$/,
  );
});

function laughs(): string {
  const line = (name: string, of: string): string => `${name}: &${name} [${Array(10).fill(of).join(", ")}]`;
  return [line("a", "x"), line("b", "*a"), line("c", "*b"), line("d", "*c"), "nodes: [*d, *d]"].join("\n");
}

test("a talconfig's GPU worker becomes a stack that the checks take, once its card is named", () => {
  const imported = convert(readTalconfig(fixture), card);
  expect(checked(imported)).toEqual([]);
  const text = parse(renderStack(imported, "talconfig.yaml")) as { config: Record<string, unknown> };
  expect(text.config).toEqual({
    "talos-gpu:talosVersion": "v1.11.1",
    "talos-gpu:machines": {
      velaryon: {
        address: "10.4.0.30",
        role: "worker",
        configuration: "adopted",
        gpus: [{ model: "RTX 2070 SUPER" }],
        labels: { role: "gpu", slot: "X" },
        taints: { gpu: "true:NoSchedule" },
      },
    },
    // Told by the ID of the image's schematic.
    "talos-gpu:driver": { branch: "lts", flavour: "proprietary" },
    "talos-gpu:devicePlugin": { version: "0.17.4" },
  });
  expect([fieldsOf(imported), imported.leftOut]).toEqual([[], ["allyrion"]]);
});

test("without a card's name the stack says that it is to be filled in, and so do the checks", () => {
  const imported = convert(readTalconfig(fixture), {});
  expect(fieldsOf(imported)).toContain("machines.velaryon.gpus");
  expect(renderStack(imported, "talconfig.yaml")).toContain("- model: TODO # the card's model, e.g. RTX 3090");
  expect(checked(imported).map(({ check }) => check)).toContain("gpu-model");
});

test("a schematic in talconfig gives the driver, the other extensions and the kernel arguments", () => {
  const officialExtensions = [
    "siderolabs/iscsi-tools",
    "siderolabs/nvidia-container-toolkit-production",
    "siderolabs/nvidia-open-gpu-kernel-modules-production",
  ];
  const customization = { extraKernelArgs: ["pci=noaer"], systemExtensions: { officialExtensions } };
  const imported = convert(nodes({ hostname: "gpu", schematic: { customization } }), { gpu: [{ model: "RTX 3090" }] });
  expect(imported.spec.driver).toEqual({ branch: "production", flavour: "open" });
  expect(imported.spec.machines.gpu).toMatchObject({
    extensions: ["siderolabs/iscsi-tools"],
    kernelArgs: ["pci=noaer"],
  });
  expect(checked(imported)).toEqual([]);
});

test("a schematic that is only an ID, and not a known one, is to be looked up", () => {
  const talosImageURL = `factory.talos.dev/metal-installer/${"2".repeat(64)}`;
  const imported = convert(nodes({ hostname: "gpu", talosImageURL }), { gpu: [{ model: "RTX 3090" }] });
  expect(imported.notes).toMatchObject(
    [{ field: "machines.gpu.extensions", problem: /222222222222…/ }].map((note) => ({
      ...note,
      problem: expect.stringMatching(note.problem),
    })),
  );
  expect(imported.spec.driver).toBeUndefined();
});

test("nodes without anything of NVIDIA's are left alone, and a card of a node that is not there is refused", () => {
  expect(() => convert(nodes({ hostname: "pi" }), {})).toThrow("name the card of one: --gpu 'pi=MODEL'");
  expect(() => convert(nodes({ hostname: "pi" }), { gpu: [{ model: "RTX 3090" }] })).toThrow(
    "--gpu: there is no node gpu to have the card; take one of pi",
  );
});

describe("of a patch only NVIDIA's part goes over", () => {
  test("modules with parameters, labels and taints", () => {
    const patch = {
      machine: {
        nodeLabels: { a: "b" },
        nodeTaints: { c: "d:NoSchedule" },
        kernel: { modules: [{ name: "nvidia-drm", parameters: ["modeset=1"] }, { name: "nvidia" }, { name: "zfs" }] },
        sysctls: { "net.core.bpf_jit_harden": "1", "vm.max_map_count": "1" },
        install: { disk: "/dev/sda", image: "x" },
      },
    };
    expect(nvidiaPart(JSON.stringify(patch), "patches[0]")).toEqual({
      ...{ speaksOfNvidia: true, labels: { a: "b" }, taints: { c: "d:NoSchedule" }, notes: [] },
      modules: [{ name: "nvidia_drm", parameters: ["modeset=1"] }],
    });
  });

  test.each([
    ["$patch: delete", "cluster: {apiServer: {admissionControl: [{$patch: delete, name: PodSecurity}]}}"],
    ["a comment", "# multus, tetragon, nvidia device plugin\ncluster: {allowSchedulingOnControlPlanes: true}"],
    ["operations", '[{"op": "remove", "path": "/cluster/apiServer/admissionControl"}]'],
    ["a secret", "machine: {env: {KEY: 'ENC[AES256_GCM,data:abc]'}}\nsops: {mac: 'ENC[AES256_GCM,data:def]'}"],
    ["a template", "machine: {env: {ROLE: {{ .MachineConfig.MachineType }}}}"],
    [
      "a containerd part of everybody's",
      "machine: {files: [{op: create, path: /etc/cri/conf.d/20-customization.part, content: 'a = 1'}]}",
    ],
  ])("%s is none of it", (_, text) => {
    expect(nvidiaPart(text, "patches[0]")).toEqual({
      ...{ speaksOfNvidia: false, labels: {}, taints: {}, notes: [], modules: [] },
    });
  });

  test("what speaks of NVIDIA and cannot be read is told", () => {
    const text = '[{"op": "add", "path": "/machine/kernel/modules/-", "value": {"name": "nvidia"}}]';
    expect(nvidiaPart(text, "patches[0]").notes).toMatchObject([{ problem: "is a list of operations (JSON 6902)" }]);
  });

  test("a containerd part that touches it becomes that machine's, and parameters of modules stay", () => {
    const content = '[plugins."io.containerd.cri.v1.runtime"]\n  cdi_spec_dirs = ["/var/cdi"]\n';
    const file = { op: "create", path: "/etc/cri/conf.d/20-customization.part", content };
    const kernelModules = [
      { name: "nvidia", parameters: ["NVreg_OpenRmEnableUnsupportedGpus=1"] },
      { name: "dm_thin_pool", parameters: ["a=b"] },
    ];
    const patches = [JSON.stringify({ machine: { files: [file] } })];
    const imported = convert(nodes({ hostname: "gpu", kernelModules, patches }), { gpu: [{ model: "RTX 3090" }] });
    const { machines } = imported.spec;
    expect(machines.gpu?.containerd).toEqual({ extra: content });
    expect(machines.gpu?.patches?.map((text) => parse(text) as unknown)).toEqual([
      { machine: { kernel: { modules: kernelModules.slice(0, 1) } } },
    ]);
    expect(fieldsOf(imported)).toEqual(["machines.gpu.containerd"]);
    expect(checked(imported)).toEqual([]);
  });
});

test("what is no talconfig is refused by field", () => {
  expect(() => readTalconfig("nodes: [{hostname: a}]")).toThrow(/nodes\.0\.ipAddress: /);
});

describe("nothing is lost in silence", () => {
  const gpu = { gpu: [{ model: "H100 NVL" }] };
  const schematic = (...officialExtensions: string[]): object => ({
    customization: { systemExtensions: { officialExtensions } },
  });

  test("the fabric manager's and GDRCopy's extensions come along", () => {
    const names = ["siderolabs/nvidia-fabricmanager-production", "siderolabs/nvidia-gdrdrv-device"];
    const all = [...names, "siderolabs/nvidia-container-toolkit-production"];
    const { spec } = convert(nodes({ hostname: "gpu", schematic: schematic(...all) }), gpu);
    expect(spec.machines.gpu?.extensions).toEqual(names);
  });

  test.each([
    ["nocloud-installer-secureboot", { platform: "nocloud", secureBoot: true }],
    ["installer-secureboot", { secureBoot: true }],
    ["digital-ocean-installer", { platform: "digital-ocean" }],
  ])("platform and Secure Boot of %s", (installer, says) => {
    const talosImageURL = `factory.talos.dev/${installer}/${"2".repeat(64)}`;
    expect(convert(nodes({ hostname: "gpu", talosImageURL }), gpu).spec.machines.gpu).toMatchObject(says);
  });

  test("an overlay comes along", () => {
    const overlay = { image: "siderolabs/sbc-rockchip", name: "turingrk1" };
    for (const schematic of [{ overlay, customization: {} }, { overlay }]) {
      const imported = convert(nodes({ hostname: "gpu", schematic }), gpu);
      expect(imported.spec.machines.gpu?.overlay).toEqual(overlay);
    }
  });

  test.each([
    [{ schematic: { overlay: { name: "rpi" }, customization: {} } }, "overlay"],
    [{ schematic: { customization: { meta: [] } } }, "customization.meta"],
    [{ talosImageURL: `registry.local/metal-installer/${"2".repeat(64)}` }, "registry.local"],
    [{ schematic: { customization: { bootloader: "sd-boot" } } }, "customization.bootloader"],
    [{ patches: ["machine: { install: { extensions: [{ image: a }] } }"] }, "install.extensions"],
  ])("%j is told, on the terminal and in the file", (node, part) => {
    const imported = convert(nodes({ hostname: "gpu", ...node }), gpu);
    expect(imported.notes.map(({ problem }) => problem).join()).toContain(part);
    expect(renderStack(imported, "talconfig.yaml")).toMatch(new RegExp(`^# .*${part}`, "m"));
  });

  test("another Image Factory comes along", () => {
    // talhelper, pkg/config/config.go, ImageFactory: a registry without scheme, and its protocol.
    const of = (imageFactory: Record<string, string>) => convert({ ...nodes({ hostname: "gpu" }), imageFactory }, gpu);
    expect(of({ registryURL: "factory.local:5000" }).spec.factoryUrl).toBe("https://factory.local:5000");
    expect(of({ registryURL: "factory.local", protocol: "http" }).spec.factoryUrl).toBe("http://factory.local");
    expect(of({ registryURL: "factory.talos.dev" }).spec.factoryUrl).toBeUndefined();
    expect(
      of({ installerURLTmpl: "{{.ID}}" })
        .notes.map(({ problem }) => problem)
        .join(),
    ).toContain("installerURLTmpl");
  });

  // talhelper, pkg/config/nodeconfigs.go, mergeNodeConfigs: patches come together unless told otherwise, all else is one or the other.
  test("what a node says itself takes the place of what its role says, and patches come after the role's", () => {
    const worker = {
      ...{ nodeLabels: { a: "role" }, nodeTaints: { gpu: "true:NoSchedule" } },
      ...{
        kernelModules: [{ name: "nvidia", parameters: ["a=1"] }],
        patches: ["machine: { nodeTaints: { a: ':NoSchedule' } }"],
      },
    };
    const own = {
      hostname: "gpu",
      nodeLabels: { b: "node" },
      patches: ["machine: { nodeTaints: { c: ':NoSchedule' } }"],
    };
    const of = (more: object) => convert({ ...nodes({ ...own, ...more }), worker }, gpu).spec.machines.gpu!;
    const both = of({});
    expect(both).toMatchObject({ labels: { b: "node" } });
    expect(both.labels).not.toHaveProperty("a");
    expect(Object.keys(both.taints ?? {})).toEqual(["gpu", "a", "c"]);
    expect(both.patches?.join()).toContain("a=1");
    expect(Object.keys(of({ overridePatches: true }).taints ?? {})).toEqual(["gpu", "c"]);
    expect(of({ kernelModules: [{ name: "nbd" }] }).patches).toBeUndefined();
  });

  test("YAML merge keys are followed", () => {
    const text = "x: &x { ipAddress: 10.0.0.1, nodeLabels: { a: b } }\nnodes:\n  - <<: *x\n    hostname: gpu\n";
    expect(convert(readTalconfig(text), gpu).spec.machines.gpu).toMatchObject({
      address: "10.0.0.1",
      labels: { a: "b" },
    });
  });

  test.each(["hostname", "ipAddress"])("two nodes of one %s are refused", (what) => {
    const one = { hostname: "a", ipAddress: "10.0.0.1" };
    const other = { hostname: "b", ipAddress: "10.0.0.2", [what]: one[what as "hostname"] };
    expect(() => readTalconfig(JSON.stringify({ nodes: [one, other] }))).toThrow(`two have the ${what}`);
  });
});
