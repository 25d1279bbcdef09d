import { ownPatch } from "../../../../components/recipe/machine/patches";
import { eachMachine } from "../../transform";

/** The containerd part comes a second time, in a patch of its own, as a patch of the whole cluster brings it. */
export const perMachinePatch = eachMachine((machine) => {
  const { containerdPart, configuration } = machine;
  // Adopting merges both by their path.
  if (containerdPart === undefined || configuration === "adopted") return;
  machine.patches = [ownPatch({ kernelModules: [], sysctls: {}, containerdPart }), ...machine.patches];
});
