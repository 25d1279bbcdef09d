import { allPatches, type Check } from "./check";

/** A patch is a strategic-merge patch in YAML. */
export const patchFormat: Check = {
  id: "patch-format",
  source: "siderolabs/docs, patching (JSON patches are not supported for multi-document configuration)",
  find: (context) =>
    allPatches(context).flatMap(({ patch }) => {
      const { flaw, field } = patch;
      if (!flaw) return [];
      if (flaw.kind === "json6902")
        return {
          field,
          problem: "is a JSON patch (RFC 6902)",
          why: "Talos does not take it for configurations of several documents, and it cannot be merged by key",
          remedy:
            "write a strategic-merge patch: the part of the configuration itself, e.g. `machine: { sysctls: { … } }`",
        };
      return {
        field,
        problem: flaw.kind === "yaml" ? `is not YAML: ${flaw.detail}` : `is ${flaw.detail}, not a mapping`,
        why: "Talos cannot merge it",
        remedy: "write the part of the machine configuration that shall change, as YAML",
      };
    }),
};
