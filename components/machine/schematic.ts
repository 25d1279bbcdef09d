import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";

/** A schematic and the ID that it must have. */
export interface SchematicToRegister {
  /** Canonical YAML. */
  schematic: string;
  /** SHA-256 of it. */
  schematicId: string;
}

/**
 * Registers a schematic at the Image Factory, which serves no image of one that it does not know.
 *
 * The name stays when the schematic changes, and the change replaces the resource: an update in place would leave its old
 * ID behind (pulumi-talos 0.8.1 asks for no replacement, and the engine keeps the ID of an updated resource).
 *
 * @returns its ID; at preview the one computed here, else the Factory's, which must be the same.
 */
export function registerSchematic(
  name: string,
  { schematic, schematicId }: SchematicToRegister,
  opts: pulumi.CustomResourceOptions,
): pulumi.Output<string> {
  const options = pulumi.mergeOptions({ replaceOnChanges: ["schematic"] }, opts);
  const registered = new talos.imagefactory.Schematic(name, { schematic }, options);
  // At preview the ID of a new schematic is unknown, and would make everything that follows unknown.
  if (pulumi.runtime.isDryRun()) return registered.urn.apply(() => schematicId);
  return registered.id.apply((id) => sameId(id, schematicId));
}

/**
 * Registers each distinct schematic once, named after the first machine that has it.
 *
 * @param machines in a stable order, with their node names.
 * @returns IDs that resolve once registered, by schematic ID.
 */
export function registerSchematics(
  name: string,
  machines: readonly (SchematicToRegister & { name: string })[],
  opts: pulumi.CustomResourceOptions,
): Record<string, pulumi.Output<string>> {
  const registered: Record<string, pulumi.Output<string>> = {};
  for (const machine of machines) {
    registered[machine.schematicId] ??= registerSchematic(`${name}-${machine.name}-schematic`, machine, opts);
  }
  return registered;
}

/** @throws when the Factory's ID is not the one that the installer image was named by. */
function sameId(id: string, expected: string): string {
  if (id === expected) return id;
  throw new Error(
    `schematic: the Image Factory gave ID ${id}, computed was ${expected}; the installer image would be of another schematic than the one reviewed; ` +
      "check that factoryUrl is an Image Factory whose canonical form of schematics is the known one, and report it",
  );
}
