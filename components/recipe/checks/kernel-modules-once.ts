import type { Check } from "./check";
import { nvidiaExtension } from "../facts/extension";

/** A machine has one flavour of the kernel modules. */
export const kernelModulesOnce: Check = {
  id: "kernel-modules-once",
  source: 'NVIDIA driver README, "Open Linux Kernel Modules": the two flavours exclude each other',
  find: ({ gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const modules = machine.extensions.filter((name) => nvidiaExtension(name)?.kind === "modules");
      const branches = new Set(modules.map((name) => nvidiaExtension(name)?.branch));
      // Two branches are the business of driver-branches.
      if (modules.length < 2 || branches.size > 1) return [];
      return {
        field: `${machine.field}.extensions`,
        problem: `names ${modules.join(" and ")}`,
        why: "both bring a module called nvidia, and only one can be in the kernel",
        remedy: "keep one, or leave both out: the flavour follows from the card",
      };
    }),
};
