import {
  customizationPath,
  omniResources,
  conflictingPatches,
  type OmniPatch,
} from "../../../components/recipe/index";
import { overridingPatches } from "../../../components/recipe/machine/omni";

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const machine = { cluster: "frank", uuid, machineSet: "frank-workers" };

test("Omni gets a machine's extensions and patches in order, with labels for only that machine", () => {
  const labels = { "omni.sidero.dev/cluster": "frank", "omni.sidero.dev/cluster-machine": uuid };
  const metadata = (type: string, id: string) => ({ namespace: "default", type, id, labels });
  expect(
    omniResources({ ...machine, patches: ["a: 1\n", "b: 2\n"], extensions: ["siderolabs/x"] }),
  ).toEqual([
    {
      metadata: metadata("ExtensionsConfigurations.omni.sidero.dev", `510-talos-gpu-${uuid}`),
      spec: { extensions: ["siderolabs/x"] },
    },
    {
      metadata: metadata("ConfigPatches.omni.sidero.dev", `5010-talos-gpu-${uuid}`),
      spec: { data: "a: 1\n" },
    },
    {
      metadata: metadata("ConfigPatches.omni.sidero.dev", `510-talos-gpu-${uuid}`),
      spec: { data: "b: 2\n" },
    },
  ]);
});

test("a machine without extensions and patches gets no resources in Omni", () => {
  expect(omniResources({ ...machine, patches: [], extensions: [] })).toEqual([]);
});

describe("a patch in Omni", () => {
  const containerdPatch = `machine:\n  files:\n    - {path: ${customizationPath}, op: create, content: ""}\n`;
  const patch = (labels: Record<string, string>, data = containerdPatch): OmniPatch => ({
    id: "300-other",
    labels: Object.fromEntries(
      Object.entries(labels).map(([key, value]) => [`omni.sidero.dev/${key}`, value]),
    ),
    data,
  });
  /** The machines for which the patch conflicts with the stack's patches. */
  const conflictScope = (omniPatch: OmniPatch, stackPatchIds: string[] = []): string | undefined =>
    conflictingPatches([omniPatch], machine, stackPatchIds)[0]?.scope;

  test.each([
    ["the cluster", { cluster: "frank" }, "the whole cluster frank"],
    [
      "its machine set",
      { cluster: "frank", "machine-set": "frank-workers" },
      "the machine set frank-workers",
    ],
    ["the machine", { cluster: "frank", "cluster-machine": uuid }, "this machine"],
    ["the machine, without a cluster", { machine: uuid }, "this machine"],
  ])("for %s conflicts if it writes the machine's containerd part", (_, labels, scope) =>
    expect(conflictScope(patch(labels as Record<string, string>))).toBe(scope),
  );

  test.each([
    ["another cluster", { cluster: "other" }],
    ["another machine set", { cluster: "frank", "machine-set": "frank-control-planes" }],
    ["another machine", { cluster: "frank", "cluster-machine": "another" }],
    ["another machine, without a cluster", { machine: "another" }],
    ["the cluster, but disabled", { cluster: "frank", disabled: "" }],
  ])("for %s does not conflict", (_, labels) =>
    expect(conflictScope(patch(labels as Record<string, string>))).toBeUndefined(),
  );

  test("does not conflict if it writes another file or is the stack's own", () => {
    expect(
      conflictScope(
        patch({ cluster: "frank" }, containerdPatch.replace("20-customization.part", "other")),
      ),
    ).toBeUndefined();
    expect(conflictScope(patch({ cluster: "frank" }), ["300-other"])).toBeUndefined();
  });

  test("conflicts if a document with a later name overrides the containerd part of the machine", () => {
    const containerdPart = (level: string): string => `[debug]\nlevel = "${level}"\n`;
    const document = (name: string): string =>
      JSON.stringify({ kind: "CRICustomizationConfig", name, content: containerdPart("debug") });
    // The patches that override the level in the containerd part of the machine.
    const overridesOf = (labels: Record<string, string>, name: string, level = "info") =>
      overridingPatches([patch(labels, document(name))], machine, [], containerdPart(level));
    expect(overridesOf({ cluster: "frank" }, "zz")).toEqual([
      {
        id: "300-other",
        scope: "the whole cluster frank",
        override: expect.objectContaining({ key: "debug.level" }),
      },
    ]);
    expect(overridesOf({ cluster: "other" }, "zz")).toEqual([]);
    expect(overridesOf({ cluster: "frank" }, "aa")).toEqual([]);
    expect(overridesOf({ cluster: "frank" }, "zz", "debug")).toEqual([]);
  });

  test("for any machine set conflicts if the machine's set is unknown", () => {
    const omniPatch = patch({ cluster: "frank", "machine-set": "gpus" });
    expect(conflictingPatches([omniPatch], { ...machine, machineSet: undefined }, [])).toHaveLength(
      1,
    );
  });
});
