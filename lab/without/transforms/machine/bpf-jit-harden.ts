import { deleteIn, editOwnPatch } from "../../own-patch";
import { eachMachine } from "../../transform";

/** Talos' kernel hardening stays as it is. */
export const bpfJitHarden = eachMachine((machine) => {
  machine.sysctls = {};
  editOwnPatch(machine, (patch) => deleteIn(patch, ["machine", "sysctls"]));
});
