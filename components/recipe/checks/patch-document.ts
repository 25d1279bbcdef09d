import { allPatches, type Check } from "./check";
import { minorsOfKind } from "../facts/talos-schema";

/** Minor of the machinery in the Talos provider that owned machines' patches are merged with. */
const providerMinor = 13;

/** Owned machines get no document that the Talos provider cannot merge. */
export const patchDocument: Check = {
  id: "patch-document",
  source: "pulumi-talos v0.8.1 merges with Talos' machinery v1.13.0, which does not know the documents of 1.14",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) => {
      const owned = machines.filter((machine) => machine.spec.configuration === "owned").map((machine) => machine.name);
      // On an older Talos the check of the schema says it.
      if (owned.length === 0 || (context.release?.version.minor ?? providerMinor + 1) <= providerMinor) return [];
      return patch.kinds
        .filter((kind) => (minorsOfKind(kind)?.[0] ?? 0) > providerMinor)
        .map((kind) => ({
          field: patch.field,
          problem: `is a ${kind}, and ${owned.join(", ")} ${owned.length === 1 ? "is" : "are"} owned`,
          why: "the Talos provider merges patches with the machinery of 1.13 and refuses it: not registered",
          remedy: "write it under machine, e.g. machine.kernel.modules or machine.sysctls, which 1.14 still takes",
        }));
    }),
};
