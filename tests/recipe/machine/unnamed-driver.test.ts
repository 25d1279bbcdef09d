import { unnamedDriver } from "../../../components/recipe/machine/planned-machine";
import type { ClusterSpec, MachineSpec } from "../../../components/recipe";

const spec: ClusterSpec = { talosVersion: "v1.12.6", machines: {} };
const machine: MachineSpec = {
  address: "192.0.2.1",
  role: "worker",
  configuration: "adopted",
  gpus: [{ model: "RTX 3060" }],
};

test.each<[string, Partial<ClusterSpec>, Partial<MachineSpec>, string[]]>([
  ["both, if the stack sets neither", {}, {}, ["branch", "flavour"]],
  [
    "without the field that the stack sets for all machines",
    { driver: { branch: "lts" } },
    {},
    ["flavour"],
  ],
  ["without the field that the machine sets", {}, { driver: { flavour: "open" } }, ["branch"]],
  [
    "without the field that an extension implies",
    {},
    { extensions: ["siderolabs/nvidia-container-toolkit-lts"] },
    ["flavour"],
  ],
  ["none with the user's own installer image", {}, { installerImage: "registry.example/x:1" }, []],
  ["none on an owned machine", {}, { configuration: "owned" }, []],
  ["none on a machine without a card", {}, { gpus: [] }, []],
])("fields of the driver that follow from the card: %s", (_, ofAll, own, left) => {
  expect(unnamedDriver({ ...spec, ...ofAll }, { ...machine, ...own })).toEqual(left);
});
