import { driverFieldsFromCard } from "../../../components/recipe/machine/planned-machine";
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
    fieldsLeftToCard: string[],
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
])(
  "on an adopted machine, the card decides these fields of the driver: %s",
  (_, stackFields, machineFields, fieldsLeftToCard) => {
    expect(
      driverFieldsFromCard({ ...spec, ...stackFields }, { ...machine, ...machineFields }),
    ).toEqual(fieldsLeftToCard);
  },
);

test("on an owned machine or without a card, driverFieldsFromCard returns no field", () => {
  const ownedMachine: MachineSpec = { ...machine, configuration: "owned" };
  const machineWithoutCard: MachineSpec = { ...machine, gpus: [] };
  expect(driverFieldsFromCard(spec, ownedMachine)).toEqual([]);
  expect(driverFieldsFromCard(spec, machineWithoutCard)).toEqual([]);
});
