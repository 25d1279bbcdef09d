import type { Observations } from "../observations";
import type { Evidence } from "../evidence";
import type { Rule } from "./rule";
import { showsGpu, type System } from "./system";

/** Without the extensions of its image a machine has neither driver nor runtime; all that follows from that. */
export const schematic: Rule = {
  fix: "schematic",
  sign: runsOldSchematic,
  causes: ["kernelModules", "validationMarkers", "operatorValidatorLabel", "bpfJitHarden", "gpuPresentLabel"],
};

/**
 * The configuration in force names an image of this very release and another schematic, and no driver is loaded. Where one is,
 * `talosctl upgrade` brought an image that the configuration never named. A machine of Omni's is none of it: its schematic and
 * its upgrades are Omni's, and the stack has nothing to set right there. Without a plan, only a node with signs of a GPU is
 * missed a driver on.
 */
function runsOldSchematic(seen: Observations, { plan }: System): Evidence[] {
  const byOmni = new Set(
    plan?.machines.filter(({ configuration }) => configuration === "omni").map(({ name }) => name),
  );
  const needsDriver = (name: string): boolean =>
    plan !== undefined || (seen.nodes ?? []).some((node) => node.name === name && showsGpu(node));
  return (seen.machines ?? []).flatMap(({ name, talosVersion, schematicId, imageId, installImage, modules }) => {
    if (byOmni.has(name) || modules?.includes("nvidia") || !needsDriver(name)) return [];
    const [, wanted, release] = /\/([0-9a-f]{64}):(v[^@]+)/.exec(installImage ?? "") ?? [];
    if (
      schematicId === undefined ||
      wanted === undefined ||
      [schematicId, imageId].includes(wanted) ||
      release !== talosVersion
    )
      return [];
    const line = `${name}: runs schematic ${schematicId.slice(0, 12)} of ${talosVersion}, and is configured for ${wanted.slice(0, 12)}`;
    return [{ node: name, line }];
  });
}
