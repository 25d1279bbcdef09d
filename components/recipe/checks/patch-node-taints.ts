import { allPatches, type Check } from "./check";

/** No patch has a worker taint its own node. */
export const patchNodeTaints: Check = {
  id: "patch-node-taints",
  source: "Kubernetes NodeRestriction; talos#8193, talos#10935",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) => {
      const workers = machines.filter((machine) => machine.spec.role === "worker").map((machine) => machine.name);
      if (workers.length === 0 || !patch.taintsNode) return [];
      return {
        field: patch.field,
        problem: `sets taints on ${workers.length === 1 ? `the worker ${workers[0]}` : "workers"}`,
        why: "a worker may not change its own taints: Kubernetes refuses the update, and with it every label that Talos sets in the same one",
        remedy: "write them under machines.<name>.taints, which go through the Kubernetes API",
      };
    }),
};
