import { parse } from "yaml";
import { convert, type Imported, renderStack } from "../../../cli/import/convert";
import { nvidiaPart } from "../../../cli/import/patch";
import { readTalconfig } from "../../../cli/import/talconfig";
import { charts } from "../../../components/recipe/facts/data/charts";
import { checkCluster, parseSpec } from "../../../components/recipe/index";
import { expectFields } from "../../support/expect-fields";
import { fixture } from "../../support/fixture";
import { type MeaningCase, meaningCases } from "./meaning-cases";

function importCase({ nodes = [{}], text, otherFields, gpu = "RTX 3090" }: MeaningCase): Imported {
  const allNodes = nodes.map((node, index) => ({
    hostname: "gpu",
    ipAddress: `10.0.0.${index + 1}`,
    ...node,
  }));
  const config = readTalconfig(
    text ?? JSON.stringify({ talosVersion: "1.11.5", nodes: allNodes, ...otherFields }),
  );
  return convert(config, gpu === null ? {} : { gpu: [{ model: gpu }] });
}

function checksOf({ spec }: Imported): string[] {
  const { spec: parsed, findings } = parseSpec(spec);
  return [...findings, ...(parsed ? checkCluster(parsed) : [])].map(({ check }) => check);
}

const refusedCases = meaningCases.filter(({ throws }) => throws !== undefined);
const importedCases = meaningCases.filter(({ throws }) => throws === undefined);

test.each(refusedCases)("import of a talconfig: $name", (meaningCase) => {
  expect(() => importCase(meaningCase)).toThrow(meaningCase.throws);
});

test.each(importedCases)("import of a talconfig: $name", (meaningCase) => {
  const imported = importCase(meaningCase);
  expectFields(imported.spec, meaningCase.stack ?? {});
  expectFields(imported.spec.machines["gpu"], meaningCase.machine ?? {});
  if (meaningCase.checks) expect(checksOf(imported)).toEqual(meaningCase.checks);
  const expectedNotes = meaningCase.notes ?? [];
  const notes = imported.notes.map(({ field, problem }) => `${field} ${problem}`);
  expect(notes).toEqual(expectedNotes.map((pattern) => expect.stringMatching(pattern)));
  const file = renderStack(imported, "talconfig.yaml"); // the file has the same notes as the terminal
  for (const { problem } of imported.notes) expect(file.replaceAll("\n# ", " ")).toContain(problem);
});

const talconfig = fixture("talhelper/talconfig.yaml");
const newestPlugin = charts.findLast(({ chart }) => chart === "nvidia-device-plugin")?.version;

test("a talconfig's GPU worker becomes a stack without findings if the user names its card", () => {
  const imported = convert(readTalconfig(talconfig), { velaryon: [{ model: "RTX 2070 SUPER" }] });
  expect(checksOf(imported)).toEqual([]);
  const { config } = parse(renderStack(imported, "talconfig.yaml")) as {
    config: Record<string, unknown>;
  };
  expect(config).toEqual({
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
    // The ID of the image's schematic shows the driver.
    "talos-gpu:driver": { branch: "lts", flavour: "proprietary" },
    "talos-gpu:devicePlugin": { version: newestPlugin },
  });
  expect(imported.notes).toEqual([]);
  expect(imported.leftOut).toEqual(["allyrion"]);
});

test("without a card's name, the stack has a placeholder that the checks refuse", () => {
  const imported = convert(readTalconfig(talconfig), {});
  expect(imported.notes.map(({ field }) => field)).toContain("machines.velaryon.gpus");
  expect(renderStack(imported, "talconfig.yaml")).toContain(
    "- model: TODO # the card's model, e.g. RTX 3090",
  );
  expect(checksOf(imported)).toContain("gpu-model");
});

describe("import of a patch", () => {
  const emptyPart = { mentionsNvidia: false, labels: {}, taints: {}, notes: [], modules: [] };
  const mixedPatch = `machine:
  nodeLabels: { a: b }
  nodeTaints: { c: "d:NoSchedule" }
  kernel: { modules: [{ name: nvidia-drm, parameters: [modeset=1] }, { name: nvidia }, { name: zfs }] }
  sysctls: { net.core.bpf_jit_harden: "1", vm.max_map_count: "1" }
  install: { disk: /dev/sda, image: x }
`;
  test.each<[string, string, object]>([
    [
      "reads modules with parameters, labels and taints",
      mixedPatch,
      {
        ...emptyPart,
        mentionsNvidia: true,
        labels: { a: "b" },
        taints: { c: "d:NoSchedule" },
        modules: [{ name: "nvidia_drm", parameters: ["modeset=1"] }],
      },
    ],
    [
      "reads labels and modules that JSON patch operations add",
      '[{"op": "add", "path": "/machine/kernel/modules/-", "value": {"name": "nvidia"}}, {"op": "add", "path": "/machine/nodeLabels/a.b~1c", "value": "d"}]',
      { ...emptyPart, mentionsNvidia: true, labels: { "a.b/c": "d" } },
    ],
    [
      "reports JSON patch operations on an item of a list",
      '[{"op": "replace", "path": "/machine/kernel/modules/0/name", "value": "nvidia"}]',
      {
        ...emptyPart,
        notes: [expect.objectContaining({ problem: "is a JSON patch (RFC 6902)" }) as unknown],
      },
    ],
    [
      "ignores $patch: delete",
      "cluster: {apiServer: {admissionControl: [{$patch: delete, name: PodSecurity}]}}",
      emptyPart,
    ],
    [
      "ignores comments",
      "# nvidia device plugin\ncluster: {allowSchedulingOnControlPlanes: true}",
      emptyPart,
    ],
    [
      "ignores JSON patch operations on the cluster",
      '[{"op": "remove", "path": "/cluster/apiServer/admissionControl"}]',
      emptyPart,
    ],
    [
      "ignores secrets",
      "machine: {env: {KEY: 'ENC[AES256_GCM,data:abc]'}}\nsops: {mac: 'ENC[AES256_GCM,data:def]'}",
      emptyPart,
    ],
    ["ignores templates", "machine: {env: {ROLE: {{ .MachineConfig.MachineType }}}}", emptyPart],
    [
      "ignores a containerd part without NVIDIA's settings",
      "machine: {files: [{op: create, path: /etc/cri/conf.d/20-customization.part, content: 'a = 1'}]}",
      emptyPart,
    ],
  ])("%s", (_, text, part) => {
    const { containerd: _containerd, ...otherFields } = nvidiaPart(text, "patches[0]");
    expect(otherFields).toEqual(part);
  });
});
