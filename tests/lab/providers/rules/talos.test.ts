import type { Properties } from "../../../../lab/providers/serve";
import { UNKNOWN } from "../../../../lab/providers/values";
import { Bench, client, open, types } from "../talos/fixture";

// What the real Talos provider refuses, by its sources: the lab's refuses the same. Where no other source stands, it is
// terraform-provider-talos v0.11.0, pkg/talos/<resource>.go, called by pulumi-terraform-bridge v3.129.0.

const bench = new Bench();
beforeAll(() => bench.start());
afterAll(() => bench.stop());

const apply: Properties = { node: "10.0.0.1", clientConfiguration: client, machineConfigurationInput: "machine: {}\n" };
const target: Properties = { node: "10.0.0.1", clientConfiguration: client };

interface Refused {
  rule: string;
  source: string;
  type: string;
  inputs: Properties;
  /** Properties that are complained of. */
  at: string[];
}

const refused: Refused[] = [
  ...(["apply", "bootstrap", "kubeconfig"] as const).map((kind) => ({
    rule: `${kind}: a node is required`,
    source: "Schema, node: Required",
    type: types[kind],
    inputs: { ...(kind === "apply" ? apply : target), node: undefined },
    at: ["node"],
  })),
  ...(["apply", "bootstrap"] as const).flatMap((kind) => [
    {
      rule: `${kind}: a client, and one only`,
      source: "ValidateConfig",
      type: types[kind],
      inputs: { ...(kind === "apply" ? apply : target), clientConfigurationWo: client },
      at: ["clientConfiguration"],
    },
    {
      rule: `${kind}: null is no client`,
      source: "ValidateConfig, IsNull",
      type: types[kind],
      inputs: { ...(kind === "apply" ? apply : target), clientConfiguration: null },
      at: ["clientConfiguration"],
    },
  ]),
  {
    rule: "kubeconfig: a client is required",
    source: "Schema, client_configuration: Required",
    type: types.kubeconfig,
    inputs: { node: "10.0.0.1" },
    at: ["clientConfiguration"],
  },
  {
    rule: "apply: a configuration, and one only",
    source: "ValidateConfig",
    type: types.apply,
    inputs: { ...apply, machineConfigurationInputWo: "machine: {}\n" },
    at: ["machineConfigurationInput"],
  },
  {
    rule: "apply: a mode of five",
    source: "Schema, apply_mode: OneOf",
    type: types.apply,
    inputs: { ...apply, applyMode: "try" },
    at: ["applyMode"],
  },
  {
    rule: "apply: patches are a list of texts",
    source: "pkg/convert/list.go, string.go",
    type: types.apply,
    inputs: { ...apply, configPatches: "machine: {}" },
    at: ["configPatches"],
  },
  {
    rule: "apply: a patch is no mapping",
    source: "pkg/convert/string.go",
    type: types.apply,
    inputs: { ...apply, configPatches: [{ machine: {} }] },
    at: ["configPatches"],
  },
  {
    rule: "limits are durations of Go",
    source: "terraform-plugin-framework-timeouts v0.7.0, validators.TimeDuration",
    type: types.bootstrap,
    inputs: { ...target, timeouts: { create: "10 minutes" } },
    at: ["timeouts.create"],
  },
  {
    rule: "secrets: a release that Talos has",
    source: "Schema, talos_version: talosVersionValid",
    type: types.secrets,
    inputs: { talosVersion: "latest" },
    at: ["talosVersion"],
  },
];

test.each(refused)("$rule ($source)", async ({ type, inputs, at }) => {
  const { failures } = await bench.provider().check(type, {}, inputs);
  expect(failures.map(({ property }) => property)).toEqual(at);
});

test.each([
  [types.apply, { ...apply, applyMode: UNKNOWN, configPatches: ["a", null, 1], timeouts: { create: UNKNOWN } }],
  [types.apply, { node: UNKNOWN, clientConfiguration: UNKNOWN, machineConfigurationInput: UNKNOWN }],
  [types.apply, { ...apply, more: "passed over (pkg/convert/object.go)" }],
  [types.bootstrap, { ...target, timeouts: { create: "30m" } }],
  [types.kubeconfig, target],
  [types.secrets, { talosVersion: "1.12" }],
  [types.secrets, { talosVersion: "v1.13.9" }],
  [types.schematic, {}],
])("%s takes %j", async (type, inputs) => {
  expect((await bench.provider().check(type, {}, inputs)).failures).toEqual([]);
});

test("a configuration is secret, whatever the program says (MarkSchemaSecrets)", async () => {
  const { inputs } = await bench.provider().check(types.apply, {}, apply);
  expect(open(inputs).secrets).toEqual(["machineConfigurationInput"]);
});

test.each([
  ["v1.13.9", "v1.13.2", true],
  ["v1.13.9", "1.12", true],
  ["v1.12.6", "v1.13.9", false],
  ["v1.12", "1.12", false],
])("secrets of %s, asked for of %s: made anew: %s (talosMachineFeaturesVersionPlanModifier)", async (was, is, anew) => {
  const diff = (ignoreChanges: string[]) => {
    const context = bench.context({ ignoreChanges });
    return bench.provider().diff(types.secrets, "id", { talosVersion: was }, { talosVersion: is }, context);
  };
  expect(await diff([])).toMatchObject({ changes: true, replaces: anew ? ["talosVersion"] : [] });
  // Which is why the product says so of them: without it, a stack that goes back a release loses its cluster.
  expect(await diff(["talosVersion"])).toEqual({ changes: false, replaces: [] });
});

// pkg/tfbridge/rawstate.go, turnaroundCheck; pulumi-talos#208. Each resource has limits of its own (Schema, timeouts.Opts).
test.each([
  [types.apply, { ...apply, timeouts: { create: "1m" } }, false],
  [types.apply, { ...apply, timeouts: { create: "1m", update: "1m", delete: null } }, false],
  [types.apply, { ...apply, timeouts: { create: "1m", update: "1m", delete: "1m" } }, true],
  [types.apply, { ...apply, timeouts: {} }, true],
  [types.bootstrap, { ...target, timeouts: { create: "1m" } }, true],
])("%s with limits: all of them or none: %j", async (type, inputs, right) => {
  const { calls: _calls, ...tool } = bench.fake("limits", "");
  const made = bench.provider(tool).create(type, inputs, false, "", 0, bench.context());
  if (right) await made;
  else await expect(made).rejects.toThrow("recovered raw state does not byte-for-byte match");
});

test("a kubeconfig stays until its certificate is about to end, whatever else changes (Update)", async () => {
  const { calls, ...tool } = bench.fake("kubeconfig", `fail("asked");`);
  const oldOutputs = { ...target, kubeconfigRaw: "kept", kubernetesClientConfiguration: { clientKey: "key" } };
  const context = bench.context({ oldOutputs });
  const news = { ...target, node: "10.0.0.2" };
  const { outputs } = await bench.provider(tool).update(types.kubeconfig, "one", target, news, false, 0, context);
  expect(open(outputs)).toMatchObject({
    values: { node: "10.0.0.2", kubeconfigRaw: "kept" },
    secrets: expect.arrayContaining(["kubeconfigRaw", "kubernetesClientConfiguration.clientKey"]),
  });
  expect(() => calls()).toThrow("ENOENT");
});

test("a patch that is null is passed over (configPatchesAsStrings)", async () => {
  const { calls, ...tool } = bench.fake("null-patch", "");
  const inputs = { ...apply, configPatches: [null, "machine: {a: 1}\n"] };
  await bench.provider(tool).create(types.apply, inputs, false, "", 0, bench.context());
  const { args } = calls().find(({ args }) => args[0] === "machineconfig")!;
  expect(args.filter((arg) => arg === "--patch")).toHaveLength(1);
});

test.each([
  ["clusterName", { clusterName: "" }],
  ["clusterEndpoint", { clusterEndpoint: undefined }],
  ["machineSecrets", { machineSecrets: undefined }],
  ["machineType", { machineType: "master" }],
])(
  "a configuration is not made without %s (talos_machine_configuration_data_source.go, Schema)",
  async (name, more) => {
    const args = { clusterName: "c", clusterEndpoint: "https://c:6443", machineSecrets: {}, machineType: "worker" };
    const asked = bench.provider().invoke(types.getConfiguration, { ...args, ...more }, bench.context());
    await expect(asked).rejects.toThrow(name);
  },
);
