import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import { hooksAreThere } from "../pulumi/hooks";
import { renderFinding } from "../recipe/stack/findings";
import type { MachineRecipe } from "../recipe/types";

/** A schematic (canonical YAML), and its expected ID (the SHA-256 of that text). */
type SchematicToRegister = Pick<MachineRecipe, "schematic" | "schematicId">;

/**
 * Registers a schematic at the Image Factory, which serves images only of registered schematics.
 *
 * A changed schematic replaces the resource. An update in place would keep the old ID: pulumi-talos 0.8.1 asks for
 * no replacement, and the engine keeps the ID of an updated resource.
 *
 * @returns the schematic's ID. A preview returns the computed ID. An update returns the Factory's ID, which must equal
 *   the computed ID.
 */
export function registerSchematic(
  name: string,
  { schematic, schematicId }: SchematicToRegister,
  opts: pulumi.CustomResourceOptions,
): pulumi.Output<string> {
  const retryHooks = hooksAreThere("registerErrorHook")
    ? { hooks: { onError: [retryHook(name)] } }
    : {};
  const options = pulumi.mergeOptions({ replaceOnChanges: ["schematic"], ...retryHooks }, opts);
  const registered = new talos.imagefactory.Schematic(name, { schematic }, options);
  // At preview the Factory's ID of a new schematic is unknown, and would make all dependent values unknown.
  if (pulumi.runtime.isDryRun()) return registered.urn.apply(() => schematicId);
  return registered.id.apply((id) => sameId(id, schematicId));
}

/**
 * Registers each distinct schematic once, named after the first machine that has it.
 *
 * @param machines the machines with their node names, in a stable order.
 * @returns for each computed schematic ID, an output that resolves to the ID once the schematic is registered.
 */
export function registerSchematics(
  name: string,
  machines: readonly (SchematicToRegister & { name: string })[],
  opts: pulumi.CustomResourceOptions,
): Record<string, pulumi.Output<string>> {
  const registered: Record<string, pulumi.Output<string>> = {};
  for (const machine of machines)
    registered[machine.schematicId] ??= registerSchematic(
      `${name}-${machine.name}-schematic`,
      machine,
      opts,
    );
  return registered;
}

/** Milliseconds before each retry: half a minute in total. */
const pauses = [1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Milliseconds before the next retry; undefined if a retry does not help. The provider itself sends only one request
 * (image-factory, pkg/client/client.go). A Factory that is busy answers with status 500, or gives no answer.
 *
 * @param errors errors of the attempts so far, the latest first.
 */
export function pauseBeforeRetry(errors: readonly string[]): number | undefined {
  const refused =
    /invalid schematic|\b(?:400|401|403|404|405|413)\b|x509|unsupported protocol/i.test(
      errors[0] ?? "",
    );
  return refused ? undefined : pauses[errors.length - 1];
}

/** A hook that makes Pulumi retry a failed registration a few times. */
function retryHook(name: string): pulumi.ErrorHook {
  const decide = AsyncResource.bind(async ({ errors }: pulumi.ErrorHookArgs): Promise<boolean> => {
    const pause = pauseBeforeRetry(errors);
    if (pause === undefined) return false;
    void pulumi.log.warn(
      `${name}: the Image Factory did not accept the schematic (${errors[0] ?? "without a reason"}); retry in ${pause / 1_000} s`,
    );
    await new Promise((resolve) => setTimeout(resolve, pause));
    return true;
  });
  return new pulumi.ErrorHook(`${name}-again`, decide);
}

/**
 * Returns the Factory's ID of a schematic.
 *
 * @throws Error if this ID differs from the one in the installer image's name.
 */
function sameId(id: string, expected: string): string {
  if (id === expected) return id;
  throw new Error(
    renderFinding({
      field: "schematic",
      problem: `the Image Factory returned the ID ${id}, but this package computed ${expected}`,
      why: "the installer image would have another schematic than the reviewed one",
      remedy:
        "check that factoryUrl is the URL of an Image Factory. If it is, the Factory now computes IDs in another way: report that to talos-gpu",
    }),
  );
}
