import type { Check } from "./check";
import { nvidiaExtension } from "../facts/extension";

export const driverBranches: Check = {
  id: "driver-branches",
  source: "siderolabs/extensions, nvidia-gpu: the driver's user-space libraries are in the toolkit's extension",
  find: ({ gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const branchesOf = (kind: string): Set<string> =>
        new Set(
          machine.extensions
            .map(nvidiaExtension)
            .flatMap((extension) => (extension?.kind === kind && extension.branch ? [extension.branch] : [])),
        );
      const modules = branchesOf("modules");
      const toolkit = branchesOf("toolkit");
      if (modules.size === 1 && toolkit.size === 1 && [...modules][0] === [...toolkit][0]) return [];
      return [
        {
          field: `${machine.field}.extensions`,
          problem: `kernel modules are of branch ${[...modules].join(" and ")}, the container toolkit of ${[...toolkit].join(" and ")}`,
          why: "the libraries would not match the loaded driver: nvidia-smi fails with a version mismatch",
          remedy: "take both from one branch, or leave NVIDIA's extensions out and set driver.branch",
        },
      ];
    }),
};
