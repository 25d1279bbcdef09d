import type { Check, CheckedMachine, Found } from "./check";
import { nvidiaExtension } from "../facts/extension";
import { seenBy } from "../machine/apart";
import type { ClusterSpec } from "../spec/index";

/** Kernel modules and container toolkit are of one branch. */
export const driverBranches: Check = {
  id: "driver-branches",
  source: "siderolabs/extensions, nvidia-gpu: the driver's user-space libraries are in the toolkit's extension",
  find: ({ spec, gpuMachines }) =>
    gpuMachines.flatMap((machine) => {
      const branchesOf = (kind: string): Set<string> =>
        new Set(
          machine.extensions
            .map(nvidiaExtension)
            .flatMap((extension) => (extension?.kind === kind && extension.branch ? [extension.branch] : [])),
        );
      const modules = branchesOf("modules");
      const toolkit = branchesOf("toolkit");
      if (modules.size === 1 && toolkit.size === 1 && [...modules][0] === [...toolkit][0])
        return against(machine, spec);
      return {
        field: `${machine.field}.extensions`,
        problem: `kernel modules are of branch ${[...modules].join(" and ")}, the container toolkit of ${[...toolkit].join(" and ")}`,
        why: "the libraries would not match the loaded driver: nvidia-smi fails with a version mismatch",
        remedy: "take both from one branch, or leave NVIDIA's extensions out and set driver.branch",
      };
    }),
};

/** What is said of the driver beside a list that says something else. */
function against(machine: CheckedMachine, spec: ClusterSpec): Found {
  const { branch, flavour } = seenBy(spec, machine.spec).driver ?? {};
  const modules = machine.extensions.map(nvidiaExtension).find((extension) => extension?.kind === "modules");
  const said = [
    [branch, modules?.branch],
    [flavour, modules?.flavour],
  ].find(([wanted, listed]) => wanted !== undefined && listed !== undefined && wanted !== listed);
  if (said === undefined) return [];
  return {
    field: `${machine.field}.extensions`,
    problem: `names ${said[1]} kernel modules, and driver says ${said[0]}`,
    why: "one of the two would be passed over in silence",
    remedy: "leave NVIDIA's extensions out: they follow from the card and from driver",
  };
}
