import { parse } from "yaml";
import { schematicOf } from "../../components/recipe";
import type { MachineRecipe } from "../../components/recipe/types";

/** Gives a machine an image of other extensions: what names its schematic is changed with it. */
export function changeImage(machine: MachineRecipe, extensions: string[]): void {
  const { customization } = parse(machine.schematic) as { customization?: { extraKernelArgs?: string[] } };
  const { id, yaml } = schematicOf({ extensions, kernelArgs: customization?.extraKernelArgs ?? [] });
  const rename = (text: string): string => text.replaceAll(machine.schematicId, id);
  Object.assign(machine, {
    extensions,
    schematic: yaml,
    schematicId: id,
    installerImage: rename(machine.installerImage),
    patches: machine.patches.map(rename),
  });
}
