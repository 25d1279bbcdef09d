import type { Check } from "./check";
import { hasNoSwitch } from "../facts/machine-facts";
import { nvidiaExtension } from "../facts/extension";

/** The fabric manager has an NVSwitch to manage, and is of the kernel modules' branch. */
export const fabricmanagerBranch: Check = {
  id: "fabricmanager-branch",
  source:
    "NVIDIA Fabric Manager user guide: its version must equal the driver's; supported systems; gpu-operator#610 (NV_WARN_NOTHING_TO_DO)",
  find: ({ gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const manager = machine.extensions.map(nvidiaExtension).find((extension) => extension?.kind === "fabricmanager");
      if (!manager) return [];
      if (hasNoSwitch(machine.uses))
        return {
          field: `${machine.field}.extensions`,
          problem: `brings the fabric manager, and there is no NVSwitch beside the ${machine.cards.map(({ model }) => model).join(", ")}`,
          why: "without one it ends at once with NV_WARN_NOTHING_TO_DO, Talos starts it again and again, and the update would wait for it in vain",
          remedy: `leave siderolabs/nvidia-fabricmanager-${manager.branch ?? machine.branch} out`,
        };
      if (manager.branch === machine.branch) return [];
      return {
        field: `${machine.field}.extensions`,
        problem: `the fabric manager is of branch ${manager.branch ?? "?"}, the kernel modules of ${machine.branch}`,
        why: "it refuses to run with a driver of another version, and without it no CUDA context can be made on an NVSwitch system",
        remedy: `take siderolabs/nvidia-fabricmanager-${machine.branch}`,
      };
    }),
};
