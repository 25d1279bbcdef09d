import type { Observations } from "../observations";
import type { Rule } from "./rule";

/** Without the extensions of its image a machine has neither driver nor runtime; all that follows from that. */
export const schematic: Rule = {
  fix: "schematic",
  sign: runsOldSchematic,
  causes: ["kernelModules", "validationMarkers", "operatorValidatorLabel", "bpfJitHarden", "gpuPresentLabel"],
};

/** The configuration in force names an image of this very release and another schematic. */
function runsOldSchematic(seen: Observations): string[] {
  return (seen.machines ?? []).flatMap(({ name, talosVersion, schematicId, installImage }) => {
    const [, wanted, release] = /\/([0-9a-f]{64}):(v[^@]+)/.exec(installImage ?? "") ?? [];
    if (schematicId === undefined || wanted === undefined || wanted === schematicId || release !== talosVersion)
      return [];
    return [
      `${name}: runs schematic ${schematicId.slice(0, 12)} of ${talosVersion}, and is configured for ${wanted.slice(0, 12)}`,
    ];
  });
}
