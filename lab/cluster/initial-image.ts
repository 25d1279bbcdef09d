import * as fs from "node:fs";
import { parse } from "yaml";
import { schematicOf, type MachineSpec, type OverlaySpec } from "../../components/recipe";
import type { Factory } from "../factory";
import { omniSchematic } from "../omni";

/** Image of a machine before the stack, as fields of a stack. */
export interface InitialImage extends Pick<
  MachineSpec,
  "extensions" | "kernelArgs" | "platform" | "secureBoot"
> {
  overlay?: OverlaySpec;
}

/** Schematic of an image without extensions. */
export const plainSchematic = schematicOf({ extensions: [], kernelArgs: [] }).id;

/**
 * Reads the file of `--image`: images by machine name.
 *
 * @throws Error when it names a machine that the stack does not have.
 */
export function readInitialImages(
  file: string | undefined,
  machines: Record<string, unknown>,
): Record<string, InitialImage> {
  if (file === undefined) return {};
  const images = parse(fs.readFileSync(file, "utf8")) as Record<string, InitialImage>;
  const unknownNames = Object.keys(images).filter((name) => !Object.hasOwn(machines, name));
  if (unknownNames.length > 0)
    throw new Error(
      `--image: the stack has no machine ${unknownNames.join(", ")}, so no machine can have this image; name one of ${Object.keys(machines).join(", ")}`,
    );
  return images;
}

/** Registers the schematic of a machine's first image with the Factory, and gives its ID. */
export function initialSchematic(
  image: InitialImage,
  machine: MachineSpec,
  factory: Factory,
): string {
  const { extensions = [], kernelArgs = [], overlay } = image;
  if (machine.configuration === "omni")
    return factory.register(omniSchematic(extensions, kernelArgs));
  return factory.register(
    schematicOf({ extensions, kernelArgs, ...(overlay ? { overlay } : {}) }).yaml,
  );
}
