import { unnamedDriver } from "../../../components/recipe/machine/planned-machine";
import type { ClusterSpec, MachineSpec } from "../../../components/recipe";

const spec: ClusterSpec = { talosVersion: "v1.12.6", machines: {} };
const machine: MachineSpec = {
  address: "192.0.2.1",
  role: "worker",
  configuration: "adopted",
  gpus: [{ model: "RTX 3060" }],
};

test.each<
  [
    title: string,
    stackFields: Partial<ClusterSpec>,
    machineFields: Partial<MachineSpec>,
    undecidedFields: string[],
  ]
>([
  ["branch and flavour if the stack sets neither", {}, {}, ["branch", "flavour"]],
  [
    "only the flavour if the stack sets the branch for all machines",
    { driver: { branch: "lts" } },
    {},
    ["flavour"],
  ],
  [
    "only the branch if the machine sets the flavour",
    {},
    { driver: { flavour: "open" } },
    ["branch"],
  ],
  [
    "only the flavour if an extension implies the branch",
    {},
    { extensions: ["siderolabs/nvidia-container-toolkit-lts"] },
    ["flavour"],
  ],
  [
    "no field with the user's own installer image",
    {},
    { installerImage: "registry.example/x:1" },
    [],
  ],
  ["no field on an owned machine", {}, { configuration: "owned" }, []],
  ["no field on a machine without a card", {}, { gpus: [] }, []],
])("the card decides %s", (_, stackFields, machineFields, undecidedFields) => {
  expect(unnamedDriver({ ...spec, ...stackFields }, { ...machine, ...machineFields })).toEqual(
    undecidedFields,
  );
});
