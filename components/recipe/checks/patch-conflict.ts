import { documentConflicts } from "../facts/data/document-conflicts";
import { type UserPatch } from "../machine/user-patches";
import { mainDocument } from "../merge/documents";
import { intoOwnDocuments, wantedOf } from "../merge/wanted";
import { allPatches, type Check, type CheckedMachine, type Found } from "./check";
import { valueAt } from "../mapping";

/** What containerd's part of old is called among the documents of Talos 1.14. */
const reserved = "customization";

/** No patch has a document beside the fields that Talos refuses with it. */
export const patchConflict: Check = {
  id: "patch-conflict",
  source:
    "talos v1.14.0-rc.1, pkg/machinery/config/types, every V1Alpha1ConflictValidate; types/cri/customization.go (the reserved name)",
  find: (context) => [
    ...allPatches(context).flatMap(({ patch }) => reservedNames(patch)),
    ...context.machines.flatMap((machine) => conflicts(machine, [...context.clusterPatches, ...machine.patches])),
  ],
};

function reservedNames({ field, documents }: UserPatch): Found {
  return documents
    .filter((document) => document.get("kind") === "CRICustomizationConfig" && document.get("name") === reserved)
    .map(() => ({
      field,
      problem: `has a CRICustomizationConfig of the name ${reserved}`,
      why: "Talos keeps the name for the part that machine.files has, and refuses the configuration",
      remedy: "give it another name, or say it under machines.<name>.containerd",
    }));
}

/** A field of a patch beside a document of a patch. Of an adopted machine's, `adopt` moves those that have a place there. */
function conflicts(machine: CheckedMachine, patches: UserPatch[]): Found {
  const wanted = wantedOf(patches.filter(({ flaw }) => flaw === undefined).map(({ text }) => text));
  if (machine.spec.configuration === "adopted") intoOwnDocuments(wanted, (kind) => wanted.has(kind));
  const main = wanted.get(mainDocument);
  return patches.flatMap((patch) =>
    patch.kinds.flatMap((kind) => {
      const fields = Object.hasOwn(documentConflicts, kind) ? documentConflicts[kind]! : [];
      const beside = fields.filter((field) => isSet(valueAt(main, ...field.split("."))));
      if (beside.length === 0) return [];
      return {
        field: patch.field,
        problem: `has a ${kind}, and ${beside.join(", ")} is set by a patch of ${machine.name} as well`,
        why: "Talos takes one of the two, and refuses a configuration with both",
        remedy: `say it in the ${kind} alone, or leave that out`,
      };
    }),
  );
}

/** Talos takes a field that holds nothing for one that is not there. */
const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== "" &&
  value !== false &&
  !(Array.isArray(value) && value.length === 0);
