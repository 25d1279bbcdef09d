import type { Check } from "./check";
import { customizationPath } from "../machine/containerd/containerd";
import type { UserPatch } from "../machine/user-patches";

/** Paths that patches write more than once, with the last patch that does. The containerd part has checks of its own. */
function repeated(patches: UserPatch[]): { path: string; fields: string[] }[] {
  const fieldsByPath = new Map<string, string[]>();
  for (const patch of patches) {
    for (const { path } of patch.files) {
      if (path !== "" && path !== customizationPath)
        fieldsByPath.set(path, [...(fieldsByPath.get(path) ?? []), patch.field]);
    }
  }
  return [...fieldsByPath].filter(([, fields]) => fields.length > 1).map(([path, fields]) => ({ path, fields }));
}

/** Each file of a machine is written by one item. */
export const machineFileOnce: Check = {
  id: "machine-file-once",
  source: "talos, pkg/machinery/config/merge (lists are appended); v1alpha1_sequencer_tasks.go, WriteUserFiles",
  find: ({ machines, clusterPatches }) => {
    const everywhere = repeated(clusterPatches);
    const known = new Set(everywhere.map(({ path }) => path));
    const perMachine = machines.flatMap((machine) =>
      machine.patches.length > 0
        ? repeated([...clusterPatches, ...machine.patches]).filter(({ path }) => !known.has(path))
        : [],
    );
    return [...everywhere, ...perMachine].map(({ path, fields }) => ({
      field: fields.at(-1) ?? "patches",
      problem: `${path} is written ${fields.length} times (by ${[...new Set(fields)].join(" and ")})`,
      why: "patches append to machine.files: which of the items wins is undefined, and for some paths a second item keeps the machine from booting",
      remedy: "write each file in one patch only",
    }));
  },
};
