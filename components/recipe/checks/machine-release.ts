import { eraOf } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import type { Check } from "./check";

/** All machines are on the same side of Talos 1.13. */
export const machineRelease: Check = {
  id: "machine-release",
  source:
    "siderolabs/docs, NVIDIA GPU at Talos 1.12 and 1.13: where the driver's libraries are, and who makes the RuntimeClass, changes with 1.13",
  find: ({ spec, plan, machines }) =>
    machines.flatMap((machine) => {
      const own = machine.spec.talosVersion;
      if (own === undefined || !parseTalosVersion(own) || !parseTalosVersion(spec.talosVersion)) return [];
      if (eraOf(own) === plan.era) return [];
      return {
        field: `${machine.field}.talosVersion`,
        problem: `is ${own} in a cluster of ${spec.talosVersion}`,
        why: "from Talos 1.13 on, pods get their GPUs in another way, and the cluster has only one GPU Operator or device plugin for all machines",
        remedy: "take a release on the same side of 1.13, or bring all machines over it together (docs/migration.md)",
      };
    }),
};
