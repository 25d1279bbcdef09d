import { diagnose, type Observations } from "../../components/diagnosis";
import { healthy, node } from "./healthy";
import { failing } from "./stuck";

// Two machines that are broken in different ways: what is wrong with one explains nothing on the other.

const machines = [{ name: "gpu-1", modules: ["drm"], driverVersion: null }];
const nodes = ["gpu-1", "gpu-2"].map((name) => ({ ...node(), name }));
const tooOld = "CUDA driver version is insufficient for CUDA runtime version";
const noLibrary = "nvml init failed: ERROR_LIBRARY_NOT_FOUND";
const told = (seen: Partial<Observations>): [string, string[]][] =>
  diagnose({ ...healthy, machines, nodes, ...seen }).map(({ fix, evidence }) => [fix, evidence]);
const noModules = ["kernelModules", ["gpu-1: no module nvidia is loaded"]];

test.each([
  ["on the same machine it follows", "gpu-1", [noModules]],
  ["on another one it is told", "gpu-2", [noModules, ["cudaImage", [`Pod/a: ${tooOld}`]]]],
  ["of no machine it may follow", undefined, [noModules]],
])("a pod without its CUDA beside a machine without its modules: %s", (_, on, wanted) => {
  expect(told({ pods: [failing("a", on, tooOld)] })).toEqual(wanted);
});

test("an event is about the node of its pod", () => {
  const pods = [{ namespace: "ollama", name: "a", phase: "Pending", node: "gpu-2" }];
  const message = "PostStartHookError: nvidia-container-cli: initialization error: init 250 result=11";
  const events = [{ namespace: "ollama", object: "Pod/a", reason: "FailedPostStartHook", message }];
  expect(told({ pods, events }).map(([fix]) => fix)).toEqual(["kernelModules", "modelsPull"]);
});

test.each([
  ["gpu-1", ["kernelModules"]],
  ["gpu-2", ["kernelModules", "driverLibraries"]],
])("a cause that no fix prevents, on %s", (on, wanted) => {
  expect(told({ pods: [failing("plugin", on, noLibrary)] }).map(([fix]) => fix)).toEqual(wanted);
});

test("of one failure on both machines each is told that does not follow from its own machine's", () => {
  const pods = [failing("a", "gpu-1", tooOld), failing("b", "gpu-2", tooOld)];
  expect(told({ pods })).toEqual([noModules, ["cudaImage", [`Pod/b: ${tooOld}`]]]);
});

test("a machine that does not boot to its end stands for itself alone", () => {
  const loop = { name: "gpu-2", repeatedFiles: ["/etc/cri/conf.d/20-customization.part"], modules: ["drm"] };
  const found = told({ machines: [...machines, loop], pods: [failing("a", "gpu-2", tooOld)] });
  expect(found.map(([fix]) => fix)).toEqual(["perMachinePatch", "kernelModules"]);
  expect(found[1]).toEqual(noModules);
});
