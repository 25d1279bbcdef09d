import {
  type ClusterSpec,
  findingsOf,
  type MachineSpec,
  planCluster,
} from "../../../components/recipe";
import { warningsAndNotes } from "../../support/warnings-and-notes";
import { validStack } from "../stacks";

/** A stack with one machine with a card, whose operator has GPUDirect Storage enabled. */
function stackWithStorage(talosVersion: string, machine: Partial<MachineSpec> = {}): ClusterSpec {
  const { machines, ...stack } = validStack("one-card");
  return {
    ...stack,
    talosVersion,
    gpuOperator: { version: "v26.3.3", values: { gds: { enabled: true } } },
    machines: { gpu: { ...machines["gpu"]!, ...machine } },
  };
}

const kernelModulesOf = (stack: ClusterSpec): string[] =>
  planCluster(stack).machines.flatMap(({ kernelModules }) => kernelModules.map(({ name }) => name));
const gdsFindings = (stack: ClusterSpec): string[] =>
  findingsOf(stack).flatMap(({ field, why, remedy }) =>
    field.includes("gds") ? [`${why}; ${remedy}`] : [],
  );

test("GPUDirect Storage is refused up to Talos 1.13, whose extensions lack nvidia_fs", () => {
  expect(gdsFindings(stackWithStorage("v1.13.9"))).toEqual([expect.stringContaining("Talos 1.14")]);
  expect(kernelModulesOf(stackWithStorage("v1.13.9"))).not.toContain("nvidia_fs");
});

test("on Talos 1.14, GPUDirect Storage loads nvidia_fs, and a note names this module", () => {
  const stack = stackWithStorage("v1.14.1");
  expect(findingsOf(stack)).toEqual([]);
  expect(kernelModulesOf(stack)).toContain("nvidia_fs");
  expect(planCluster(stack).machines[0]!.patches.join()).toContain("nvidia_fs");
  expect(warningsAndNotes(stack)).toContainEqual(
    expect.stringMatching(/^gpuOperator\.values\.gds\.enabled: .*nvidia_fs/),
  );
});

test("GPUDirect Storage is refused if one machine stays on Talos 1.13", () => {
  const stack = stackWithStorage("v1.14.1", { talosVersion: "v1.13.9" });
  expect(gdsFindings(stack)).toHaveLength(1);
});

test("GPUDirect Storage in an external release also loads nvidia_fs, and a note names the value", () => {
  const { gpuOperator: _gpuOperator, ...stack } = stackWithStorage("v1.14.1");
  const external = {
    kind: "gpuOperator",
    namespace: "gpu-operator",
    version: "v26.3.3",
    values: { gds: { enabled: true } },
  };
  const externalStack = { ...stack, external } as ClusterSpec;
  expect(kernelModulesOf(externalStack)).toContain("nvidia_fs");
  expect(warningsAndNotes(externalStack)).toContainEqual(
    expect.stringMatching(/^external\.values\.gds\.enabled: /),
  );
});

test("without GPUDirect Storage, a machine does not load nvidia_fs", () => {
  expect(
    kernelModulesOf({ ...stackWithStorage("v1.14.1"), gpuOperator: { version: "v26.3.3" } }),
  ).not.toContain("nvidia_fs");
});

test.each([
  ["B100", true],
  ["B200", true],
  ["B300", true],
  ["H200", false],
  ["GB200", false],
])("a board of eight %s gets the module ib_umad: %j", (model, isLoaded) => {
  const kernelModules = kernelModulesOf(
    stackWithStorage("v1.14.1", { gpus: [{ model, count: 8 }] }),
  );
  expect(kernelModules.includes("ib_umad")).toBe(isLoaded);
});

test("a board of eight B100 gets the fabric manager", () => {
  const stack = stackWithStorage("v1.14.1", { gpus: [{ model: "B100", count: 8 }] });
  expect(planCluster(stack).machines[0]!.extensions).toContain(
    "siderolabs/nvidia-fabricmanager-production",
  );
});

test("an arm64 machine on Talos 1.14 gets a note on arm64.nobti unless kernelArgs has it", () => {
  const nobtiNotes = (talosVersion: string, machine: Partial<MachineSpec>): string =>
    warningsAndNotes(stackWithStorage(talosVersion, machine))
      .filter((note) => note.includes("arm64.nobti"))
      .join();
  const overlay = { image: "siderolabs/sbc-raspberrypi", name: "rpi_generic" };
  expect(nobtiNotes("v1.14.1", { overlay })).toContain("machines.gpu.kernelArgs");
  expect(nobtiNotes("v1.14.1", { overlay, kernelArgs: ["arm64.nobti"] })).toBe("");
  expect(nobtiNotes("v1.12.6", { overlay })).toBe("");
  expect(nobtiNotes("v1.14.1", {})).toBe("");
});
