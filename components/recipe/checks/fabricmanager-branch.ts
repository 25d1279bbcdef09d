import type { Check } from "./check";
import { nvidiaExtension } from "../facts/extension";

/** The fabric manager is of the kernel modules' branch. */
export const fabricmanagerBranch: Check = {
  id: "fabricmanager-branch",
  source: "NVIDIA Fabric Manager user guide: its version must equal the driver's",
  find: ({ gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const manager = machine.extensions.map(nvidiaExtension).find((extension) => extension?.kind === "fabricmanager");
      if (!manager || manager.branch === machine.branch) return [];
      return [
        {
          field: `${machine.field}.extensions`,
          problem: `the fabric manager is of branch ${manager.branch ?? "?"}, the kernel modules of ${machine.branch}`,
          why: "it refuses to run with a driver of another version, and without it no CUDA context can be made on an NVSwitch system",
          remedy: `take siderolabs/nvidia-fabricmanager-${machine.branch}`,
        },
      ];
    }),
};
