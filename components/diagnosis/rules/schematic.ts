import type { Observations } from "../observations";
import type { Evidence } from "./evidence";
import type { Rule } from "./rule";
import type { System } from "./system";

/** Without the extensions of its image a machine has neither driver nor runtime; all that follows from that. */
export const schematic: Rule = {
  fix: "schematic",
  sign: runsOldSchematic,
  causes: ["kernelModules", "validationMarkers", "operatorValidatorLabel", "bpfJitHarden", "gpuPresentLabel"],
};

/**
 * The configuration in force names an image of this very release and another schematic. A machine of Omni's is none of it:
 * its schematic and its upgrades are Omni's, and the stack has nothing to set right there.
 */
function runsOldSchematic(seen: Observations, { plan }: System): Evidence[] {
  const byOmni = new Set(
    plan?.machines.filter(({ configuration }) => configuration === "omni").map(({ name }) => name),
  );
  return (seen.machines ?? []).flatMap(({ name, talosVersion, schematicId, installImage }) => {
    if (byOmni.has(name)) return [];
    const [, wanted, release] = /\/([0-9a-f]{64}):(v[^@]+)/.exec(installImage ?? "") ?? [];
    if (schematicId === undefined || wanted === undefined || wanted === schematicId || release !== talosVersion)
      return [];
    const line = `${name}: runs schematic ${schematicId.slice(0, 12)} of ${talosVersion}, and is configured for ${wanted.slice(0, 12)}`;
    return [{ node: name, line }];
  });
}
