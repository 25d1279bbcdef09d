import { isMap, visit, type Document } from "yaml";
import { allPatches, type Check } from "./check";
import { patchKey } from "../machine/patch-flaws";

/** Whether something in a document is deleted, in whatever style it is written. */
function deletes(document: Document): boolean {
  let found = false;
  visit(document, {
    Map(_, map) {
      if (isMap(map) && map.has(patchKey)) found = true;
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}

/** Nothing is deleted from somebody else's configuration. */
export const patchDelete: Check = {
  id: "patch-delete",
  source:
    "siderolabs/docs, patching (`$patch: delete`); merging into an adopted configuration only adds, so that it can be taken back",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) => {
      const adopted = machines.filter((machine) => machine.spec.configuration === "adopted");
      if (adopted.length === 0 || !patch.documents.some(deletes)) return [];
      return {
        field: patch.field,
        problem: `deletes ($patch), and ${adopted[0]?.name} is adopted`,
        why: "this package only merges into a configuration of somebody else's: it could not bring back what a patch deleted",
        remedy: "delete it where the configuration is made",
      };
    }),
};
