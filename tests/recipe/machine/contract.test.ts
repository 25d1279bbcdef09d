import { foretold } from "../../../components/machine/foretell";
import {
  type ClusterSpec,
  findingsOf,
  type MachineSpec,
  planCluster,
} from "../../../components/recipe";
import { remarksOn } from "../../support/remarks";
import { machineStates } from "../../../components/recipe/effect/effect";
import { plannedMachines } from "../../../components/recipe/machine/planned-machine";
import { validStack } from "../stacks";

/** A stack of one owned machine. */
function owned(talosVersion: string, said: Partial<MachineSpec> = {}): ClusterSpec {
  const stack = validStack("rtx5070ti");
  const { "k8s-worker4": machine } = stack.machines;
  const exposure = { gpuOperator: { version: "v26.3.3" } };
  return {
    ...stack,
    ...exposure,
    talosVersion,
    machines: { gpu: { ...machine!, ...said, role: "worker" } },
  };
}

const machineOf = (stack: ClusterSpec) => plannedMachines(planCluster(stack))[0]!;

test.each<[string, Partial<MachineSpec>, string]>([
  ["v1.13.9", {}, "v1.13.9"],
  ["v1.13.9", { runningVersion: "v1.12.6" }, "v1.12.6"],
  ["v1.13.9", { versionContract: "v1.12" }, "v1.12.0"],
  ["v1.14.1", { versionContract: "v1.12.6", runningVersion: "v1.13.9" }, "v1.12.6"],
  ["v1.13.9", { versionContract: "v1.11", runningVersion: "v1.12.6" }, "v1.11.0"],
])("on Talos %s a machine that says %j is generated for %s", (talosVersion, said, contract) => {
  expect(machineOf(owned(talosVersion, said)).contract).toBe(contract);
});

test("the machine is named as its contract has it", () => {
  const texts = (versionContract: string): string =>
    machineOf(owned("v1.13.9", { versionContract })).patches.join("\n");
  expect(texts("v1.11")).not.toContain("HostnameConfig");
  expect(texts("v1.12")).toContain("HostnameConfig");
});

test.each<[string, Partial<MachineSpec>, RegExp]>([
  ["a release that is none", { versionContract: "twelve" }, /is not a Talos version/],
  [
    "one that is newer than the machine's",
    { versionContract: "v1.14" },
    /newer than Talos v1\.13\.9/,
  ],
])("%s is refused", (_, said, words) => {
  const [finding, ...others] = findingsOf(owned("v1.13.9", said));
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    check: "version-contract",
    field: "machines.gpu.versionContract",
  });
  expect(finding!.problem).toMatch(words);
});

describe("the preview of a new talosVersion", () => {
  const refusedBetween = (was: ClusterSpec, is: ClusterSpec): string | undefined => {
    const [before, after] = [was, is].map((stack) => machineStates(planCluster(stack))["gpu"]!);
    const runs = { talosVersion: was.talosVersion };
    return foretold("gpu", before, runs, after!, is.machines["gpu"]!.versionContract !== undefined)
      .refused;
  };
  const before = owned("v1.12.6");

  test("fails if it would change the contract without a request, and names the line to write", () => {
    const refused = refusedBetween(before, owned("v1.13.9"));
    expect(refused).toMatch(
      /^machines\.gpu\.versionContract: is not set, .* v1\.12 to those of v1\.13; .*; to keep the present defaults, write `versionContract: v1\.12`/,
    );
  });

  test.each([
    ["with the contract that it has", owned("v1.13.9", { versionContract: "v1.12" })],
    ["with the new one, on purpose", owned("v1.13.9", { versionContract: "v1.13" })],
    ["with the release that runs", owned("v1.13.9", { runningVersion: "v1.12.6" })],
    ["of the same minor", owned("v1.12.7")],
  ])("goes on %s", (_, after) => expect(refusedBetween(before, after)).toBeUndefined());

  test("a set contract keeps the configuration, so no change is listed", () => {
    const said = machineStates(planCluster(owned("v1.12.6", { versionContract: "v1.12" })))["gpu"]!;
    expect(said).toEqual(machineStates(planCluster(before))["gpu"]);
  });

  test("names the contract that the running release reads, if the given one is newer", () => {
    const [was, is] = [
      owned("v1.11.5", { versionContract: "v1.11" }),
      owned("v1.12.6", { versionContract: "v1.12" }),
    ];
    expect(refusedBetween(was, is)).toMatch(
      /^machines\.gpu\.versionContract: the machine runs v1\.11\.5, .*; write `versionContract: v1\.11`/,
    );
    expect(refusedBetween(was, owned("v1.12.6", { versionContract: "v1.11" }))).toBeUndefined();
  });

  test("a machine that was taken over from another owner has no contract to keep", () => {
    const adopted = owned("v1.12.6", { configuration: "adopted" });
    expect(
      refusedBetween(adopted, { ...owned("v1.13.9"), machines: { gpu: adopted.machines["gpu"]! } }),
    ).toBeUndefined();
  });
});

const contractNotes = (stack: ClusterSpec): string[] =>
  remarksOn(stack).filter((note) => note.includes("versionContract"));

test("a note says how to pin the contract of owned machines, until it is pinned", () => {
  expect(contractNotes(owned("v1.13.9"))).toEqual([
    expect.stringMatching(/^machineDefaults\.versionContract: .* gpu, .*`versionContract: v1\.13`/),
  ]);
  expect(contractNotes(owned("v1.13.9", { runningVersion: "v1.12.6" }))).toEqual([
    expect.stringContaining("`versionContract: v1.12`"),
  ]);
  expect(contractNotes(owned("v1.13.9", { versionContract: "v1.13" }))).toEqual([]);
  expect(contractNotes(owned("v1.13.9", { configuration: "adopted" }))).toEqual([]);
});

test("on a machine of another owner the field has no effect, and a note says so", () => {
  const [note] = contractNotes(
    owned("v1.13.9", { configuration: "adopted", versionContract: "v1.12" }),
  );
  expect(note).toMatch(/^machines\.gpu\.versionContract: .*no effect/);
});
