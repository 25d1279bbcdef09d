import type { Check } from "./check";
import { customizationPath } from "../machine/containerd";

export const perMachinePatch: Check = {
  id: "per-machine-patch",
  source: "talos, v1alpha1_sequencer_tasks.go, injectCRIConfigPatch (the resource is created, never changed)",
  find: ({ machines }) =>
    machines
      .filter(({ recipe }) => recipe.clusterPatch !== undefined)
      .map(({ field }) => ({
        field: `${field}.containerd`,
        problem: `goes to the whole cluster as well, in a patch that writes ${customizationPath} a second time`,
        why: "Talos then fails with EtcFileSpecs … already exists, CRI and kubelet do not start, and the machine reboots every 35 minutes",
        remedy: "take perMachinePatch out of `without`: each machine then has one part, in a patch of its own",
      })),
};
