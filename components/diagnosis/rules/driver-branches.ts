import type { Observations } from "../observations";
import { type Evidence, matching } from "../evidence";
import type { Rule } from "./rule";

/** No container of the nvidia runtime starts. */
export const driverBranches: Rule = {
  fix: "driverBranches",
  sign: librariesOfAnotherDriver,
  causes: ["validationMarkers", "operatorValidatorLabel", "bpfJitHarden", "cudaImage", "modelsPull"],
};

/**
 * Talos labels a node with its extensions' versions, and both begin with the driver's, e.g. `580.126.09-v1.12.6` of the
 * modules and `570.211.01-v1.18.2` of the toolkit. Source: siderolabs/extensions, nvidia-gpu, the extensions' manifests.
 */
function librariesOfAnotherDriver(seen: Observations): Evidence[] {
  const mixed = (seen.nodes ?? []).flatMap(({ name, labels }) => {
    const driverOf = (extension: RegExp): [string, string] | undefined => {
      const found = Object.entries(labels).find(([key]) => extension.test(key));
      return found && [found[0].replace(/^[^/]*\//, ""), found[1].replace(/-.*$/, "")];
    };
    const modules = driverOf(/^extensions\.talos\.dev\/(nvidia-open-gpu-kernel-modules|nonfree-kmod-nvidia)-/);
    const toolkit = driverOf(/^extensions\.talos\.dev\/nvidia-container-toolkit-/);
    if (!modules || !toolkit || modules[1] === toolkit[1]) return [];
    const line = `node ${name}: ${modules[0]} is of driver ${modules[1]}, ${toolkit[0]} of ${toolkit[1]}`;
    return [{ node: name, line }];
  });
  return [...mixed, ...matching(seen, /driver\/library version mismatch/i)];
}
