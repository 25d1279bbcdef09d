import { deleteIn, editOwnPatch } from "../../own-patch";
import { eachMachine } from "../../transform";

/** The configuration declares no kernel modules. */
export const kernelModules = eachMachine((machine) => {
  machine.kernelModules = [];
  editOwnPatch(machine, (patch) => deleteIn(patch, ["machine", "kernel", "modules"]));
});
