import { allPatches, type Check } from "./check";

/** No patch sets a sysctl that the package needs otherwise. */
export const patchSysctl: Check = {
  id: "patch-sysctl",
  source: "siderolabs/extensions#101; talos, pkg/machinery/config/merge: a later value of a key stands",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) =>
      Object.entries(patch.sysctls).flatMap(([key, value]) => {
        const machine = machines.find(
          (candidate) => candidate.recipe.sysctls[key] !== undefined && candidate.recipe.sysctls[key] !== value,
        );
        if (!machine) return [];
        return {
          field: patch.field,
          problem: `sets ${key} to ${value}, but ${machine.name} needs ${machine.recipe.sysctls[key]}`,
          why: "the package sets this key and overrides your value; with your value, no GPU container would start",
          remedy: "leave it out",
        };
      }),
    ),
};
