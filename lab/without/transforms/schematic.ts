import { changeImage } from "../image";
import { eachMachine } from "../transform";

/** The image is the plain one: a machine of the same release runs it already, and an upgrade has nothing to do. */
export const schematic = eachMachine((machine) => {
  if (machine.gpuCount > 0 && machine.configuration !== "omni") changeImage(machine, []);
});
