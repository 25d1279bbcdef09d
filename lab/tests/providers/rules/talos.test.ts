import type { Properties } from "../../../providers/serve";
import { Bench, open, types } from "../talos/fixture";
import { apply, refusedByTalos, takenByTalos, target, told } from "./cases";

// What the real Talos provider refuses, by its sources: the lab's refuses the same. Where no other source stands, it is
// terraform-provider-talos v0.11.0, pkg/talos/<resource>.go, called by pulumi-terraform-bridge v3.129.0.

const bench = new Bench();
beforeAll(() => bench.start());
afterAll(() => bench.stop());

const checked = async (type: string, inputs: Properties) =>
  (await bench.provider().check(type, {}, inputs, bench.context())).failures;

test.each(refusedByTalos)("$rule ($source)", async ({ type, inputs, said }) => {
  expect(await told(checked(type, inputs))).toEqual([said]);
});

test.each(takenByTalos)("%s takes %j", async (type, inputs) => {
  expect(await checked(type, inputs)).toEqual([]);
});

test("a configuration is secret, whatever the program says (MarkSchemaSecrets)", async () => {
  const { inputs } = await bench.provider().check(types.apply, {}, apply, bench.context());
  expect(open(inputs).secrets).toEqual(["machineConfigurationInput"]);
});

test.each([
  ["v1.13.9", "v1.13.2", true],
  ["v1.13.9", "1.12", true],
  ["v1.12.6", "v1.13.9", false],
  ["v1.12", "1.12", false],
])(
  "secrets of %s, asked for of %s: made again: %s (talosMachineFeaturesVersionPlanModifier)",
  async (was, is, anew) => {
    const diff = (ignoreChanges: string[]) => {
      const context = bench.context({ ignoreChanges });
      return bench.provider().diff(types.secrets, "id", { talosVersion: was }, { talosVersion: is }, context);
    };
    expect(await diff([])).toMatchObject({ changes: true, replaces: anew ? ["talosVersion"] : [] });
    // Which is why the product says so of them: without it, a stack that goes back a release loses its cluster.
    expect(await diff(["talosVersion"])).toEqual({ changes: false, replaces: [] });
  },
);

// pkg/tfbridge/rawstate.go, turnaroundCheck; pulumi-talos#208. Each resource has limits of its own (Schema, timeouts.Opts).
test.each([
  [types.apply, { ...apply, timeouts: { create: "1m" } }, false],
  [types.apply, { ...apply, timeouts: { create: "1m", update: "1m", delete: null } }, false],
  [types.apply, { ...apply, timeouts: { create: "1m", update: "1m", delete: "1m" } }, true],
  [types.apply, { ...apply, timeouts: {} }, true],
  [types.bootstrap, { ...target, timeouts: { create: "1m" } }, true],
])("%s with limits: all of them or none: %j", async (type, inputs, right) => {
  const { calls: _calls, ...tool } = bench.fake("limits", "");
  const made = bench.create(type, inputs, tool);
  if (right) await made;
  else await expect(made).rejects.toThrow("recovered raw state does not byte-for-byte match");
});

test("a kubeconfig stays, whatever else changes (Update)", async () => {
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
  await bench.create(types.apply, inputs, tool);
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
