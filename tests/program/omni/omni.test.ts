import type { CallErrorKind } from "../../../components/clients/failure";
import { OmniServer } from "../../../components/clients/omni/server";
import type { SecretFiles } from "../../../components/clients/secret-files";
import type { Talosctl } from "../../../components/clients/talos/talosctl";
import { applyToOmni, releaseFromOmni } from "../../../components/program/omni/apply";
import type { OmniTask } from "../../../components/program/task";
import { customizationPath, omniResources } from "../../../components/recipe";
import { failsWith, FakeClock } from "../fakes";
import { errorMessageOf } from "../setup";
import { FakeOmni } from "./fake-omni";

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const containerdPatch = `machine:\n  files:\n    - {path: ${customizationPath}, op: create, content: "x"}\n`;

const emptyPatch = "machine: {}\n";
/** IDs of the stack's own resources. */
const ownId = `510-talos-gpu-${uuid}`;
const ownIdOfFirstPatch = `5010-talos-gpu-${uuid}`;
const applyExtensions = `apply ExtensionsConfigurations ${ownId}`;
const applyPatch = `apply ConfigPatches ${ownId}`;

/** A resource in Omni from another tool: a patch, or a list of extensions. */
type ForeignResource = { id: string; labels: Record<string, string> } & (
  { patch: string } | { extensions: string[] }
);

/** A run of the program, which creates the machine's resources of the stack in Omni, or removes them. */
interface OmniRun {
  /** The stack's patches. Default: containerd's part alone. */
  patches?: string[];
  /** The stack's extensions. Default: the one that the machine's image has. */
  extensions?: string[];
  /** Extensions that the machine may lose. */
  drop?: string[];
  /** Set if the machine leaves the stack, so that the stack's resources in Omni are removed. */
  releases?: true;
  /** Resources that other tools have created before. */
  foreign?: ForeignResource[];
  /** Further changes of Omni from now on. */
  omni?: Partial<FakeOmni>;
  /** Set if Omni fails to list its resources, for this many seconds or forever. */
  failing?: { seconds?: number; problem: CallErrorKind; message: string };
  expect:
    | {
        error?: never;
        /** Fields of the answer: IDs of written and removed resources. */
        result?: { written?: string[]; removed?: string[] };
        /** Number of removed resources. */
        removed?: number;
        /** Calls that change Omni, in order. */
        calls?: string[];
        /** IDs of all patches in Omni afterwards. */
        patchesInOmni?: string[];
        /** A part of the progress. */
        logs?: string;
      }
    | {
        /** Parts of the error's message. Omni is then unchanged. */
        error: [string, ...string[]];
      };
}

/** Runs the program on the same Omni, once for each entry. */
async function runOmni(...runs: [OmniRun, ...OmniRun[]]): Promise<void> {
  const omni = new FakeOmni();
  const clock = new FakeClock();
  const lines: string[] = [];
  const report = (line: string): void => void lines.push(line);
  const { list } = omni;
  for (const run of runs) {
    Object.assign(omni, run.omni);
    for (const { id, labels, ...content } of run.foreign ?? [])
      if ("patch" in content) omni.put(id, labels, content.patch);
      else omni.putExtensions(id, labels, content.extensions);
    if (run.failing) {
      const { seconds, problem, message } = run.failing;
      omni.list = failsWith(problem, message);
      if (seconds !== undefined) clock.after(seconds, () => (omni.list = list));
    }
    omni.calls.length = 0;

    const { patches = [containerdPatch], extensions = ["siderolabs/x"], drop } = run;
    const resources = omniResources({ cluster: "frank", uuid, patches, extensions });
    const task: OmniTask = {
      machine: "gpu-1",
      uuid,
      cluster: "frank",
      resources,
      ...(drop ? { drop } : {}),
    };
    const pendingResult = run.releases
      ? releaseFromOmni(task, omni, report, clock)
      : applyToOmni(task, omni, report);
    const { expect: expected } = run;
    if (expected.error) {
      const message = await errorMessageOf(pendingResult);
      for (const part of expected.error) expect(message).toContain(part);
      expect(omni.calls).toEqual([]);
      continue;
    }
    const result = await pendingResult;
    if (expected.result) expect(result).toMatchObject(expected.result);
    if (expected.removed !== undefined) expect(result.removed).toHaveLength(expected.removed);
    if (expected.calls) expect(omni.calls).toEqual(expected.calls);
    const patchIds = [...omni.resources.values()]
      .filter(({ spec }) => "data" in spec)
      .map(({ metadata }) => metadata.id);
    if (expected.patchesInOmni) expect(patchIds.sort()).toEqual(expected.patchesInOmni);
    if (expected.logs) expect(lines.join()).toContain(expected.logs);
  }
}

const firstRun: OmniRun = { expect: { calls: [applyExtensions, applyPatch] } };

const clusterLabels = { "omni.sidero.dev/cluster": "frank" };
const machineSetLabels = (name: string) => ({
  ...clusterLabels,
  "omni.sidero.dev/machine-set": name,
});
const machineLabels = (id: string, cluster = "frank") => ({
  "omni.sidero.dev/cluster": cluster,
  "omni.sidero.dev/cluster-machine": id,
});
/** Omni, with a machine whose image has these extensions. */
const omniWithExtensions = (...extensions: string[]) => ({
  imageState: { talosVersion: "v1.12.6", schematicId: "s", extensions },
});

describe("omni-apply", () => {
  test("writes the extensions before the patch, and nothing at the second run", () =>
    runOmni(firstRun, { expect: { result: { written: [], removed: [] }, calls: [] } }));

  test("removes only a patch that the stack no longer has", () =>
    runOmni(
      {
        foreign: [
          { id: "500-theirs", labels: clusterLabels, patch: "machine: {sysctls: {a: b}}\n" },
          { id: "510-talos-gpu-another", labels: clusterLabels, patch: emptyPatch },
        ],
        patches: [emptyPatch, containerdPatch],
        expect: { result: { written: [ownId, ownIdOfFirstPatch, ownId] } },
      },
      {
        expect: {
          result: { written: [], removed: [ownIdOfFirstPatch] },
          patchesInOmni: ["500-theirs", "510-talos-gpu-another", ownId],
        },
      },
    ));

  test("keeps containerd's part under its ID if another patch is added or removed", () =>
    runOmni(
      firstRun,
      {
        patches: [emptyPatch, containerdPatch],
        expect: { result: { written: [ownIdOfFirstPatch] } },
      },
      { expect: { result: { written: [], removed: [ownIdOfFirstPatch] } } },
    ));

  test("deletes a patch before writing it under another ID", () => {
    const formerId = `511-talos-gpu-${uuid}`; // an earlier release of this package numbered its patches in this way
    return runOmni({
      foreign: [{ id: formerId, labels: {}, patch: containerdPatch }],
      patches: [emptyPatch, containerdPatch],
      expect: {
        calls: [
          `delete ConfigPatches ${formerId}`,
          applyExtensions,
          `apply ConfigPatches ${ownIdOfFirstPatch}`,
          applyPatch,
        ],
      },
    });
  });

  describe("if another tool's patch in Omni has the same file", () => {
    const otherToolsPatch: ForeignResource = {
      id: "300-cdi-containerd",
      labels: clusterLabels,
      patch: containerdPatch,
    };

    test("refuses a patch for the whole cluster before it writes anything", () =>
      runOmni({
        foreign: [otherToolsPatch],
        expect: {
          error: [
            "machines.gpu-1.containerd: the patch 300-cdi-containerd in Omni, for the whole cluster frank",
            "omnictl edit ConfigPatches.omni.sidero.dev 300-cdi-containerd",
          ],
        },
      }));

    test("accepts a patch for another machine set", () =>
      runOmni({
        foreign: [{ id: "300-of-a-set", labels: machineSetLabels("gpus"), patch: containerdPatch }],
        expect: { calls: [applyExtensions, applyPatch] },
      }));

    test("accepts every patch if the stack writes no containerd part", () =>
      runOmni({
        foreign: [otherToolsPatch],
        patches: [emptyPatch],
        expect: { calls: [applyExtensions, applyPatch] },
      }));
  });

  test("refuses to remove extensions that the stack does not list, until the stack drops them", () =>
    runOmni(
      {
        omni: omniWithExtensions(
          "siderolabs/iscsi-tools",
          "siderolabs/util-linux-tools",
          "siderolabs/x",
        ),
        expect: {
          error: [
            "machines.gpu-1.extensions: the machine runs siderolabs/iscsi-tools, siderolabs/util-linux-tools, ",
          ],
        },
      },
      {
        drop: ["siderolabs/iscsi-tools", "util-linux-tools"],
        expect: { calls: [applyExtensions, applyPatch] },
      },
    ));

  test("accepts that the machine loses extensions that the stack's own list added", () =>
    runOmni(firstRun, {
      omni: omniWithExtensions("siderolabs/iscsi-tools", "siderolabs/x"),
      patches: [emptyPatch, containerdPatch],
      expect: { result: { written: [ownIdOfFirstPatch] } },
    }));

  // Omni's "Update Extensions" dialog makes a list for the machine (siderolabs/omni,
  // frontend/src/views/Machines/components/UpdateExtensionsModal.vue).
  describe("if another tool has a list of extensions in Omni", () => {
    const listFromOmniUi: ForeignResource = {
      id: `schematic-${uuid}`,
      labels: machineLabels(uuid),
      extensions: ["siderolabs/iscsi-tools", "siderolabs/x"],
    };
    const twoListsError: [string, ...string[]] = [
      `machines.gpu-1.extensions: schematic-${uuid} in Omni also lists extensions for this machine ` +
        "(siderolabs/iscsi-tools, siderolabs/x); ",
      `\`omnictl delete ExtensionsConfigurations.omni.sidero.dev schematic-${uuid}\``,
    ];

    test("refuses a list for the same machine at the first run", () =>
      runOmni({ foreign: [listFromOmniUi], expect: { error: twoListsError } }));

    test("refuses a list for the same machine also if the stack's list is already in Omni", () =>
      runOmni(firstRun, { foreign: [listFromOmniUi], expect: { error: twoListsError } }));

    test("accepts a list for the same machine if the stack lists no extensions", () =>
      runOmni({ foreign: [listFromOmniUi], extensions: [], expect: { calls: [applyPatch] } }));

    test.each([
      ["another machine", machineLabels("another")],
      ["the machine in another cluster", machineLabels(uuid, "x")],
      ["the machine set", machineSetLabels("frank-workers")],
      ["the whole cluster", clusterLabels],
    ])("accepts a list for %s", (_, labels) =>
      runOmni({
        foreign: [{ id: "schematic-theirs", labels, extensions: ["siderolabs/x"] }],
        expect: { calls: [applyExtensions, applyPatch] },
      }),
    );
  });

  describe("refuses a machine", () => {
    test("that Omni does not know", () =>
      runOmni({
        omni: { imageState: undefined, state: undefined },
        expect: { error: ["machines.gpu-1.uuid: Omni knows no machine"] },
      }));

    test("that belongs to another cluster", () =>
      runOmni({
        omni: { state: { ...new FakeOmni().state!, cluster: "other" } },
        expect: { error: ["belongs to the cluster other, not frank"] },
      }));

    test("whose cluster Omni does not have", () =>
      runOmni({
        omni: { state: undefined, clusters: [] },
        expect: { error: ["clusterName: Omni has no cluster frank"] },
      }));

    test("whose cluster a cluster template manages", () =>
      runOmni({
        omni: { templated: true },
        expect: {
          error: ["machines.gpu-1.configuration: a cluster template manages the cluster frank"],
        },
      }));
  });

  describe("for a machine that has not joined its cluster yet", () => {
    test("writes the patches, and reports that Omni keeps them", () =>
      runOmni({
        omni: { state: undefined },
        expect: {
          calls: [applyExtensions, applyPatch],
          logs: "Omni keeps them until the machine joins",
        },
      }));

    test("refuses another tool's patch for any machine set", () =>
      runOmni({
        omni: { state: undefined },
        foreign: [{ id: "300-of-a-set", labels: machineSetLabels("gpus"), patch: containerdPatch }],
        expect: { error: ["for the machine set gpus"] },
      }));
  });
});

describe("omni-release", () => {
  test("removes only the stack's resources, and nothing at the second run", () =>
    runOmni(
      { ...firstRun, foreign: [{ id: "500-theirs", labels: clusterLabels, patch: emptyPatch }] },
      { releases: true, expect: { removed: 2, patchesInOmni: ["500-theirs"] } },
      { releases: true, expect: { removed: 0 } },
    ));

  test("waits for Omni if it does not answer", () =>
    runOmni(firstRun, {
      failing: {
        seconds: 60,
        problem: "unreachable",
        message: "omnictl get failed: connection refused",
      },
      releases: true,
      expect: { removed: 2 },
    }));

  test("explains how the stack forgets the machine if Omni is gone", () =>
    runOmni(firstRun, {
      failing: { problem: "refused", message: "omnictl get failed: no such host" },
      releases: true,
      expect: {
        error: [
          "machines.gpu-1: the request to Omni failed: omnictl get failed: no such host; ",
          "`pulumi state delete 'URN'`",
        ],
      },
    }));
});

test.each<[string, string, unknown]>([
  // siderolabs/omni prints them in this form (client/pkg/template/testdata/cluster1-resources.yaml). The
  // annotation has no value.
  [
    "a cluster of a cluster template",
    "    annotations:\n        omni.sidero.dev/managed-by-cluster-templates:\n",
    { templated: true },
  ],
  [
    "a cluster with other annotations",
    "    annotations:\n        name: home\n",
    { templated: false },
  ],
  ["a cluster without annotations", "", { templated: false }],
])("omnictl's output for %s is read", async (_, annotations, expected) => {
  const type = "Clusters.omni.sidero.dev";
  const output = `metadata:
    namespace: default
    type: ${type}
    id: frank
    version: 1
${annotations}spec:
    talosversion: 1.12.6
`;
  const omnictl = { run: async () => output } as unknown as Talosctl;
  expect(await new OmniServer(omnictl, {} as SecretFiles).cluster("frank")).toEqual(expected);
});
