import { foretold } from "../../../components/machine/foretell";
import {
  type ClusterSpec,
  findingsOf,
  type MachineSpec,
  planCluster,
} from "../../../components/recipe";
import { warningsAndNotes } from "../../support/warnings-and-notes";
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
])(
  "on Talos %s, a machine with %j has a configuration of the contract %s",
  (talosVersion, said, contract) => {
    expect(machineOf(owned(talosVersion, said)).contract).toBe(contract);
  },
);

test("the host name is in a HostnameConfig from the contract v1.12 on", () => {
  const texts = (versionContract: string): string =>
    machineOf(owned("v1.13.9", { versionContract })).patches.join("\n");
  expect(texts("v1.11")).not.toContain("HostnameConfig");
  expect(texts("v1.12")).toContain("HostnameConfig");
});

test.each<[string, Partial<MachineSpec>, RegExp]>([
  ["that is no Talos version", { versionContract: "twelve" }, /is not a Talos version/],
  [
    "that is newer than the machine's release",
    { versionContract: "v1.14" },
    /newer than Talos v1\.13\.9/,
  ],
])("a versionContract %s is refused", (_, said, words) => {
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

  test("refuses a change of the contract that the stack does not request, and gives the line to write", () => {
    const refused = refusedBetween(before, owned("v1.13.9"));
    expect(refused).toMatch(
      /^machines\.gpu\.versionContract: is not set, .* v1\.12 to those of v1\.13; .*; to keep the present defaults, write `versionContract: v1\.12`/,
    );
  });

  test.each([
    [
      "a set versionContract that keeps the contract",
      owned("v1.13.9", { versionContract: "v1.12" }),
    ],
    [
      "a set versionContract that changes the contract",
      owned("v1.13.9", { versionContract: "v1.13" }),
    ],
    ["a runningVersion that tells the contract", owned("v1.13.9", { runningVersion: "v1.12.6" })],
    ["a release of the same minor", owned("v1.12.7")],
  ])("accepts %s", (_, after) => expect(refusedBetween(before, after)).toBeUndefined());

  test("lists no change if the stack sets the contract that the machine has", () => {
    const said = machineStates(planCluster(owned("v1.12.6", { versionContract: "v1.12" })))["gpu"]!;
    expect(said).toEqual(machineStates(planCluster(before))["gpu"]);
  });

  test("refuses a contract newer than the running release, and gives the right one", () => {
    const [was, is] = [
      owned("v1.11.5", { versionContract: "v1.11" }),
      owned("v1.12.6", { versionContract: "v1.12" }),
    ];
    expect(refusedBetween(was, is)).toMatch(
      /^machines\.gpu\.versionContract: the machine runs v1\.11\.5, .*; write `versionContract: v1\.11`/,
    );
    expect(refusedBetween(was, owned("v1.12.6", { versionContract: "v1.11" }))).toBeUndefined();
  });

  test("accepts any release for an adopted machine, whose contract is not the stack's", () => {
    const adopted = owned("v1.12.6", { configuration: "adopted" });
    expect(
      refusedBetween(adopted, { ...owned("v1.13.9"), machines: { gpu: adopted.machines["gpu"]! } }),
    ).toBeUndefined();
  });
});

const contractNotes = (stack: ClusterSpec): string[] =>
  warningsAndNotes(stack).filter((note) => note.includes("versionContract"));

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

test("a note says that versionContract has no effect on an adopted machine", () => {
  const [note] = contractNotes(
    owned("v1.13.9", { configuration: "adopted", versionContract: "v1.12" }),
  );
  expect(note).toMatch(/^machines\.gpu\.versionContract: .*no effect/);
});
