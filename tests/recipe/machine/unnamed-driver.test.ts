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
  ["by all, if none is named", {}, {}, ["branch", "flavour"]],
  ["but for what the stack names for all machines", { driver: { branch: "lts" } }, {}, ["flavour"]],
  ["but for what the machine's own says", {}, { driver: { flavour: "open" } }, ["branch"]],
  [
    "but for what an extension says",
    {},
    { extensions: ["siderolabs/nvidia-container-toolkit-lts"] },
    ["flavour"],
  ],
  ["never, of an image of the user's own", {}, { installerImage: "registry.example/x:1" }, []],
  ["never, of a machine that the stack makes itself", {}, { configuration: "owned" }, []],
  ["never, of a machine without a card", {}, { gpus: [] }, []],
])("the driver is left to the card %s", (_, ofAll, own, left) => {
  expect(unnamedDriver({ ...spec, ...ofAll }, { ...machine, ...own })).toEqual(left);
});
