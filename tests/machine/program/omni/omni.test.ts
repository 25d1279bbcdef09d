import { applyToOmni, releaseFromOmni } from "../../../../components/machine/program/omni/apply";
import { OmniServer } from "../../../../components/clients/omni/server";
import type { SecretFiles } from "../../../../components/clients/secret-files";
import type { Talosctl } from "../../../../components/clients/talos/talosctl";
import { CallError } from "../../../../components/clients/failure";
import type { OmniTask } from "../../../../components/machine/program/task";
import { customizationPath, extensionsType, omniResources } from "../../../../components/recipe";
import { FakeOmni } from "./fake-omni";
import { FakeClock } from "../fakes";
import { failure } from "../setup";

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const part = `machine:\n  files:\n    - {path: ${customizationPath}, op: create, content: "x"}\n`;
const task = (patches = [part]): OmniTask => ({
  machine: "gpu-1",
  uuid,
  cluster: "frank",
  resources: omniResources({ cluster: "frank", uuid, patches, extensions: ["siderolabs/x"] }),
});

const quiet = (): void => {};

describe("omni-apply", () => {
  test("writes what differs, extensions first; a second run writes nothing", async () => {
    const omni = new FakeOmni();
    await applyToOmni(task(), omni, quiet);
    expect(omni.calls).toEqual([
      `apply ExtensionsConfigurations 510-talos-gpu-${uuid}`,
      `apply ConfigPatches 510-talos-gpu-${uuid}`,
    ]);
    omni.calls.length = 0;
    expect(await applyToOmni(task(), omni, quiet)).toMatchObject({ written: [], removed: [] });
    expect(omni.calls).toEqual([]);
  });

  test("a patch of ours that is not wanted any more goes; those of others stay", async () => {
    const omni = new FakeOmni();
    const theirs = { "omni.sidero.dev/cluster": "frank" };
    omni.put("500-theirs", theirs, "machine: {sysctls: {a: b}}\n");
    omni.put("510-talos-gpu-another", theirs, "machine: {}\n");
    await applyToOmni(task(["machine: {}\n", part]), omni, quiet);
    expect(await applyToOmni(task(), omni, quiet)).toMatchObject({ written: [], removed: [`5010-talos-gpu-${uuid}`] });
    expect([...omni.held.values()].map(({ metadata }) => metadata.id)).toEqual(
      expect.arrayContaining(["500-theirs", "510-talos-gpu-another"]),
    );
  });

  test("a patch that comes or goes leaves the containerd part where it is; what moved is taken away before it comes back", async () => {
    const omni = new FakeOmni();
    await applyToOmni(task(), omni, quiet);
    omni.calls.length = 0;
    const two = ["machine: {}\n", part];
    expect(await applyToOmni(task(two), omni, quiet)).toMatchObject({ written: [`5010-talos-gpu-${uuid}`] });
    expect(await applyToOmni(task(), omni, quiet)).toMatchObject({ written: [], removed: [`5010-talos-gpu-${uuid}`] });
    // As this package once numbered them.
    omni.put(`511-talos-gpu-${uuid}`, {}, part);
    omni.calls.length = 0;
    await applyToOmni(task(two), omni, quiet);
    expect(omni.calls).toEqual([
      `delete ConfigPatches 511-talos-gpu-${uuid}`,
      `apply ConfigPatches 5010-talos-gpu-${uuid}`,
    ]);
  });

  test("a cluster-wide patch with the same file is refused before anything is written", async () => {
    const omni = new FakeOmni();
    omni.put("300-cdi-containerd", { "omni.sidero.dev/cluster": "frank" }, part);
    const message = await failure(applyToOmni(task(), omni, quiet));
    expect(message).toContain(
      "machines.gpu-1.containerd: the patch 300-cdi-containerd in Omni, for the whole cluster frank",
    );
    expect(message).toContain("omnictl delete ConfigPatches.omni.sidero.dev 300-cdi-containerd");
    expect(omni.calls).toEqual([]);
  });

  test("extensions that its image has and the stack's list lacks are named; nothing is written", async () => {
    const omni = new FakeOmni();
    omni.seen!.extensions = ["siderolabs/iscsi-tools", "siderolabs/util-linux-tools", "siderolabs/x"];
    const message = await failure(applyToOmni(task(), omni, quiet));
    expect(message).toMatch(
      /^machines\.gpu-1\.extensions: the machine runs siderolabs\/iscsi-tools, siderolabs\/util-linux-tools, /,
    );
    expect(omni.calls).toEqual([]);
    const drop = ["siderolabs/iscsi-tools", "util-linux-tools"];
    await applyToOmni({ ...task(), drop }, omni, quiet);
    expect(omni.calls).toHaveLength(2);
  });

  describe("an extensions list of somebody else", () => {
    const cluster = { "omni.sidero.dev/cluster": "frank" };
    const theirs = ["siderolabs/iscsi-tools", "siderolabs/x"];

    test.each([
      ["before ours is there", false],
      ["beside ours", true],
    ])("for the same machine is refused %s; nothing is written", async (_, applied) => {
      const omni = new FakeOmni();
      if (applied) await applyToOmni(task(), omni, quiet);
      omni.calls.length = 0;
      // Omni's "Update Extensions" dialog (siderolabs/omni, frontend/src/views/Machines/components/UpdateExtensionsModal.vue).
      omni.putExtensions(`schematic-${uuid}`, { ...cluster, "omni.sidero.dev/cluster-machine": uuid }, theirs);
      const message = await failure(applyToOmni(task(), omni, quiet));
      expect(message).toContain(
        `machines.gpu-1.extensions: schematic-${uuid} in Omni lists extensions for this machine as well (${theirs.join(", ")}); `,
      );
      expect(message).toContain(`\`omnictl delete ${extensionsType} schematic-${uuid}\``);
      expect(omni.calls).toEqual([]);
    });

    test.each<[string, Record<string, string>]>([
      ["another machine", { ...cluster, "omni.sidero.dev/cluster-machine": "another" }],
      ["the machine in another cluster", { "omni.sidero.dev/cluster": "x", "omni.sidero.dev/cluster-machine": uuid }],
      ["the machine set", { ...cluster, "omni.sidero.dev/machine-set": "frank-workers" }],
      ["the whole cluster", cluster],
    ])("for %s is none of ours", async (_, labels) => {
      const omni = new FakeOmni();
      omni.putExtensions("schematic-theirs", labels, theirs);
      await applyToOmni(task(), omni, quiet);
      expect(omni.calls).toHaveLength(2);
    });

    test("does not matter to a machine that the stack gives none", async () => {
      const omni = new FakeOmni();
      omni.putExtensions(`schematic-${uuid}`, { ...cluster, "omni.sidero.dev/cluster-machine": uuid }, theirs);
      await applyToOmni({ ...task(), resources: task().resources.slice(1) }, omni, quiet);
      expect(omni.calls).toHaveLength(1);
    });
  });

  test("what our own list brought may be taken out of the stack", async () => {
    const omni = new FakeOmni();
    await applyToOmni(task(), omni, quiet);
    omni.seen!.extensions = ["siderolabs/iscsi-tools", "siderolabs/x"];
    expect(await applyToOmni(task(["machine: {}\n", part]), omni, quiet)).toMatchObject({
      written: [`5010-talos-gpu-${uuid}`],
    });
  });

  test("a machine without a containerd part has no rival", async () => {
    const omni = new FakeOmni();
    omni.put("300-cdi-containerd", { "omni.sidero.dev/cluster": "frank" }, part);
    await applyToOmni(task(["machine: {}\n"]), omni, quiet);
    expect(omni.calls).toHaveLength(2);
  });

  test.each<[string, (omni: FakeOmni) => void, string]>([
    ["unknown to Omni", (omni) => (omni.seen = omni.state = undefined), "machines.gpu-1.uuid: Omni knows no machine"],
    ["of another cluster", (omni) => (omni.state!.cluster = "other"), "is of the cluster other, not frank"],
    [
      "meant for no cluster that is there",
      (omni) => ((omni.state = undefined), (omni.clusters = [])),
      "clusterName: Omni has no cluster frank",
    ],
    [
      "of a cluster that is kept as a template",
      (omni) => (omni.templated = true),
      "machines.gpu-1.configuration: the cluster frank is kept as a template",
    ],
  ])("a machine that is %s is refused", async (_, spoil, part) => {
    const omni = new FakeOmni();
    spoil(omni);
    expect(await failure(applyToOmni(task(), omni, quiet))).toContain(part);
    expect(omni.calls).toEqual([]);
  });

  test("one that waits to be added to the cluster gets its patches before", async () => {
    const omni = new FakeOmni();
    omni.state = undefined;
    const said: string[] = [];
    await applyToOmni(task(), omni, (line) => said.push(line));
    expect(omni.calls).toHaveLength(2);
    expect(said.join()).toContain("Omni keeps them until the machine joins");
    omni.put("300-of-a-set", { "omni.sidero.dev/cluster": "frank", "omni.sidero.dev/machine-set": "gpus" }, part);
    expect(await failure(applyToOmni(task(), omni, quiet))).toContain("for the machine set gpus"); // it may join that one
  });
});

test.each<[string, string, unknown]>([
  // As siderolabs/omni prints both: client/pkg/template/testdata/cluster1-resources.yaml, the annotation without a value.
  ["a template's", "    annotations:\n        omni.sidero.dev/managed-by-cluster-templates:\n", { templated: true }],
  ["one with other annotations", "    annotations:\n        name: home\n", { templated: false }],
  ["one of Omni's page", "", { templated: false }],
])("omnictl's word on a cluster: %s", async (_, annotations, expected) => {
  const type = "Clusters.omni.sidero.dev";
  const printed = `metadata:\n    namespace: default\n    type: ${type}\n    id: frank\n    version: 1\n${annotations}spec:\n    talosversion: 1.12.6\n`;
  const omnictl = { run: async () => printed } as unknown as Talosctl;
  expect(await new OmniServer(omnictl, {} as SecretFiles).cluster("frank")).toEqual(expected);
});

test("omni-release takes away what is ours and nothing else; a second one finds nothing", async () => {
  const omni = new FakeOmni();
  omni.put("500-theirs", { "omni.sidero.dev/cluster": "frank" }, "machine: {}\n");
  await applyToOmni(task(), omni, quiet);
  expect((await releaseFromOmni(task(), omni, new FakeClock(), quiet)).removed).toHaveLength(2);
  expect([...omni.held.values()].map(({ metadata }) => metadata.id)).toEqual(["500-theirs"]);
  expect(await releaseFromOmni(task(), omni, new FakeClock(), quiet)).toEqual({ removed: [] });
});

test("omni-release waits for Omni, and says how the stack forgets the machine where there is no Omni any more", async () => {
  const omni = new FakeOmni();
  const clock = new FakeClock();
  await applyToOmni(task(), omni, quiet);
  const { list } = omni;
  omni.list = () => Promise.reject(new CallError("unreachable", "omnictl get failed: connection refused"));
  clock.after(60, () => (omni.list = list));
  expect((await releaseFromOmni(task(), omni, clock, quiet)).removed).toHaveLength(2);

  omni.list = () => Promise.reject(new CallError("refused", "omnictl get failed: no such host"));
  const message = await failure(releaseFromOmni(task(), omni, clock, quiet));
  expect(message).toContain("machines.gpu-1: Omni cannot be asked: omnictl get failed: no such host; ");
  expect(message).toContain("`pulumi state delete 'URN'`");
});
