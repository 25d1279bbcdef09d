import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { checkCluster, parseSpec, type Finding } from "../../../components/recipe/index";
import { convert, type Imported } from "../../../cli/import-talhelper/convert";
import { carryPatch } from "../../../cli/import-talhelper/patch";
import { renderStack } from "../../../cli/import-talhelper/render";
import { readTalconfig, type Talconfig } from "../../../cli/import-talhelper/talconfig";

const fixture = fs.readFileSync(path.join(__dirname, "../../fixtures/talhelper/talconfig.yaml"), "utf8");
const card = { velaryon: [{ model: "RTX 2070 SUPER" }] };

function checked({ spec }: Imported): Finding[] {
  const { spec: parsed, findings } = parseSpec(spec);
  return [...findings, ...(parsed ? checkCluster(parsed) : [])];
}
const nodes = (...list: object[]): Talconfig =>
  readTalconfig(
    JSON.stringify({ talosVersion: "1.11.5", nodes: list.map((node) => ({ ipAddress: "10.0.0.1", ...node })) }),
  );
const fieldsOf = ({ notes }: Imported): string[] => notes.map(({ field }) => field);

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
        patches: ['machine:\n  sysctls:\n    vm.max_map_count: "262144"\n'],
      },
    },
    // Told by the ID of the image's schematic.
    "talos-gpu:driver": { branch: "lts", flavour: "proprietary" },
    "talos-gpu:devicePlugin": { version: "0.17.4" },
  });
  // A node with an image that nobody knows might have a card, too.
  expect(fieldsOf(imported)).toEqual(["machines.allyrion"]);
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

test("nodes of different drivers do not fit into one stack", () => {
  const image = (branch: string): object => ({
    customization: { systemExtensions: { officialExtensions: [`siderolabs/nvidia-container-toolkit-${branch}`] } },
  });
  const config = nodes({ hostname: "a", schematic: image("lts") }, { hostname: "b", schematic: image("production") });
  expect(fieldsOf(convert(config, {}))).toContain("driver");
});

test("nodes without anything of NVIDIA's are left alone, and a card of a node that is not there is refused", () => {
  expect(fieldsOf(convert(nodes({ hostname: "pi" }), {}))).toEqual(["machines"]);
  expect(() => convert(nodes({ hostname: "pi" }), { gpu: [{ model: "RTX 3090" }] })).toThrow(
    "--gpu: there is no node gpu to have the card; take one of pi",
  );
});

describe("patches", () => {
  test("lose what follows from the stack, and what goes through the Kubernetes API", () => {
    const patch = {
      machine: {
        nodeLabels: { a: "b" },
        nodeTaints: { c: "d:NoSchedule" },
        kernel: { modules: [{ name: "nvidia" }, { name: "nvidia_uvm" }, { name: "zfs" }] },
        sysctls: { "net.core.bpf_jit_harden": "1" },
        install: { disk: "/dev/sda", image: "x", extensions: [{ image: "y" }] },
      },
    };
    const carried = carryPatch(JSON.stringify(patch), "patches[0]");
    expect(carried).toMatchObject({ speaksOfNvidia: true, labels: { a: "b" }, taints: { c: "d:NoSchedule" } });
    expect(parse(carried.text ?? "")).toEqual({
      machine: { kernel: { modules: [{ name: "zfs" }] }, install: { disk: "/dev/sda" } },
    });
  });

  test.each([
    ["a: ${SECRET}", "variable"],
    ['[{"op": "add", "path": "/machine/x", "value": 1}]', "JSON 6902"],
    ["a: [", "no YAML"],
  ])("that cannot be carried are told: %s", (text, problem) => {
    const { text: left, notes } = carryPatch(text, "patches[0]");
    expect(left).toBeUndefined();
    expect(notes[0]?.problem).toContain(problem);
  });
});

test("what is no talconfig is refused by field", () => {
  expect(() => readTalconfig("nodes: [{hostname: a}]")).toThrow(/nodes\.0\.ipAddress: /);
});
