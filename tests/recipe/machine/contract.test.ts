import { predictUpdate } from "../../../components/machine/foretell";
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

/** A stack of one machine, which the stack owns unless the fields say otherwise. */
function stackOfOwnedMachine(
  talosVersion: string,
  machineFields: Partial<MachineSpec> = {},
): ClusterSpec {
  const stack = validStack("rtx5070ti");
  const { "k8s-worker4": machine } = stack.machines;
  const gpuProvider = { gpuOperator: { version: "v26.3.3" } };
  return {
    ...stack,
    ...gpuProvider,
    talosVersion,
    machines: { gpu: { ...machine!, ...machineFields, role: "worker" } },
  };
}

const firstMachine = (stack: ClusterSpec) => plannedMachines(planCluster(stack))[0]!;
const stateOf = (stack: ClusterSpec) => machineStates(planCluster(stack))["gpu"]!;

test.each<[talosVersion: string, machineFields: Partial<MachineSpec>, contract: string]>([
  ["v1.13.9", {}, "v1.13.9"],
  ["v1.13.9", { runningVersion: "v1.12.6" }, "v1.12.6"],
  ["v1.13.9", { versionContract: "v1.12" }, "v1.12.0"],
  ["v1.14.1", { versionContract: "v1.12.6", runningVersion: "v1.13.9" }, "v1.12.6"],
  ["v1.13.9", { versionContract: "v1.11", runningVersion: "v1.12.6" }, "v1.11.0"],
])(
  "on Talos %s, a machine with %j has a configuration of the contract %s",
  (talosVersion, machineFields, contract) => {
    expect(firstMachine(stackOfOwnedMachine(talosVersion, machineFields)).contract).toBe(contract);
  },
);

test("the host name is in a HostnameConfig from the contract v1.12 on", () => {
  const patchTexts = (versionContract: string): string =>
    firstMachine(stackOfOwnedMachine("v1.13.9", { versionContract })).patches.join("\n");
  expect(patchTexts("v1.11")).not.toContain("HostnameConfig");
  expect(patchTexts("v1.12")).toContain("HostnameConfig");
});

test.each<[contract: string, machineFields: Partial<MachineSpec>, problem: RegExp]>([
  ["that is no Talos version", { versionContract: "twelve" }, /is not a Talos version/],
  [
    "that is newer than the machine's release",
    { versionContract: "v1.14" },
    /newer than Talos v1\.13\.9/,
  ],
])("a versionContract %s is refused", (_, machineFields, problem) => {
  const [finding, ...otherFindings] = findingsOf(stackOfOwnedMachine("v1.13.9", machineFields));
  expect(otherFindings).toEqual([]);
  expect(finding).toMatchObject({
    check: "version-contract",
    field: "machines.gpu.versionContract",
  });
  expect(finding!.problem).toMatch(problem);
});

describe("the preview of a new talosVersion", () => {
  /** The reason why an update from one stack to another is refused, if it is. */
  const refusalOfUpdate = (
    previousStack: ClusterSpec,
    newStack: ClusterSpec,
  ): string | undefined => {
    const runningRelease = { talosVersion: previousStack.talosVersion };
    const setsContract = newStack.machines["gpu"]!.versionContract !== undefined;
    return predictUpdate(
      "gpu",
      stateOf(previousStack),
      runningRelease,
      stateOf(newStack),
      setsContract,
    ).refused;
  };
  const previousStack = stackOfOwnedMachine("v1.12.6");

  test("refuses a change of the contract that the stack does not request, and gives the line to write", () => {
    const refusal = refusalOfUpdate(previousStack, stackOfOwnedMachine("v1.13.9"));
    expect(refusal).toMatch(
      /^machines\.gpu\.versionContract: is not set, .* v1\.12 to those of v1\.13; .*; to keep the present defaults, write `versionContract: v1\.12`/,
    );
  });

  test.each([
    [
      "a set versionContract that keeps the contract",
      stackOfOwnedMachine("v1.13.9", { versionContract: "v1.12" }),
    ],
    [
      "a set versionContract that changes the contract",
      stackOfOwnedMachine("v1.13.9", { versionContract: "v1.13" }),
    ],
    [
      "a runningVersion that tells the contract",
      stackOfOwnedMachine("v1.13.9", { runningVersion: "v1.12.6" }),
    ],
    ["a release of the same minor", stackOfOwnedMachine("v1.12.7")],
  ])("accepts %s", (_, newStack) =>
    expect(refusalOfUpdate(previousStack, newStack)).toBeUndefined(),
  );

  test("lists no change if the stack sets the contract that the machine has", () => {
    const newStack = stackOfOwnedMachine("v1.12.6", { versionContract: "v1.12" });
    expect(stateOf(newStack)).toEqual(stateOf(previousStack));
  });

  test("refuses a contract newer than the running release, and gives the right one", () => {
    const stackOn111 = stackOfOwnedMachine("v1.11.5", { versionContract: "v1.11" });
    const stackOn112 = stackOfOwnedMachine("v1.12.6", { versionContract: "v1.12" });
    expect(refusalOfUpdate(stackOn111, stackOn112)).toMatch(
      /^machines\.gpu\.versionContract: the machine runs v1\.11\.5, .*; write `versionContract: v1\.11`/,
    );
    const stackWithRightContract = stackOfOwnedMachine("v1.12.6", { versionContract: "v1.11" });
    expect(refusalOfUpdate(stackOn111, stackWithRightContract)).toBeUndefined();
  });

  test("accepts any release for an adopted machine, whose contract is not the stack's", () => {
    const adoptedStack = stackOfOwnedMachine("v1.12.6", { configuration: "adopted" });
    const newStack = { ...stackOfOwnedMachine("v1.13.9"), machines: adoptedStack.machines };
    expect(refusalOfUpdate(adoptedStack, newStack)).toBeUndefined();
  });
});

const contractNotes = (stack: ClusterSpec): string[] =>
  warningsAndNotes(stack).filter((note) => note.includes("versionContract"));

test("a note says how to pin the contract of owned machines, until it is pinned", () => {
  expect(contractNotes(stackOfOwnedMachine("v1.13.9"))).toEqual([
    expect.stringMatching(/^machineDefaults\.versionContract: .* gpu, .*`versionContract: v1\.13`/),
  ]);
  expect(contractNotes(stackOfOwnedMachine("v1.13.9", { runningVersion: "v1.12.6" }))).toEqual([
    expect.stringContaining("`versionContract: v1.12`"),
  ]);
  expect(contractNotes(stackOfOwnedMachine("v1.13.9", { versionContract: "v1.13" }))).toEqual([]);
  expect(contractNotes(stackOfOwnedMachine("v1.13.9", { configuration: "adopted" }))).toEqual([]);
});

test("a note says that versionContract has no effect on an adopted machine", () => {
  const [note] = contractNotes(
    stackOfOwnedMachine("v1.13.9", { configuration: "adopted", versionContract: "v1.12" }),
  );
  expect(note).toMatch(/^machines\.gpu\.versionContract: .*no effect/);
});
