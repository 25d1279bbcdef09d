import { type Document, isMap, parseDocument } from "yaml";
import type { MachineRecipe } from "../../components/recipe/types";

/** Edits the patch that this package writes for a machine: the last one, after those of the user. */
export function editOwnPatch(machine: MachineRecipe, edit: (patch: Document) => void): void {
  const patch = parseDocument(machine.patches.at(-1)!);
  edit(patch);
  machine.patches = [...machine.patches.slice(0, -1), patch.toString({ lineWidth: 0 })];
}

/** Deletes a value of a patch, and the mappings that are empty then. */
export function deleteIn(patch: Document, path: readonly string[]): void {
  if (!patch.hasIn(path)) return;
  patch.deleteIn(path);
  for (let depth = path.length - 1; depth > 1; depth--) {
    const parent = patch.getIn(path.slice(0, depth));
    if (isMap(parent) && parent.items.length === 0) patch.deleteIn(path.slice(0, depth));
  }
}
