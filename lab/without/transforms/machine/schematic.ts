import { schematicOf } from "../../../../components/recipe";
import { eachMachine } from "../../transform";

/**
 * The upgrade is told the schematic of the plain image, which a machine of the same release runs already: it is up to date,
 * though its configuration names the image with the driver.
 */
export const schematic = eachMachine((machine) => {
  if (machine.gpuCount === 0 || machine.configuration === "omni") return;
  const { id, yaml } = schematicOf({ extensions: [], kernelArgs: [] });
  const installerImage = machine.installerImage.replace(machine.schematicId, id);
  Object.assign(machine, { schematic: yaml, schematicId: id, installerImage });
});
