import { parse } from "yaml";
import * as z from "zod";
import { canonicalSchematic } from "../../components/recipe/machine/schematic";

/** An HTTP error of the Factory, thrown by its checks. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** A schematic that the Factory knows. */
export interface Schematic {
  /** SHA-256 of the canonical text, hexadecimal. */
  readonly id: string;
  readonly text: string;
  /** Official extensions in the given order: a different order makes a different schematic. */
  readonly extensions: readonly string[];
  readonly kernelArgs: readonly string[];
}

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const texts = z.array(text).nullish();

/**
 * Its fields (siderolabs/image-factory v1.3, pkg/schematic/schematic.go). A Factory without the enterprise features
 * refuses any other field.
 */
const fields = z.strictObject({
  overlay: z.strictObject({ image: text, name: text, options: z.unknown() }).nullish(),
  customization: z
    .strictObject({
      embeddedMachineConfiguration: text.nullish(),
      extraKernelArgs: texts,
      meta: z.array(z.strictObject({ key: z.int().min(0).max(255), value: text })).nullish(),
      systemExtensions: z.strictObject({ officialExtensions: texts }).nullish(),
      bootloader: z.enum(["none", "dual-boot", "sd-boot", "grub"]).nullish(),
      secureboot: z
        .strictObject({
          enrollKeys: text.nullish(),
          includeWellKnownCertificates: z.boolean().nullish(),
        })
        .nullish(),
      diskImage: z.strictObject({ sectorSize: z.int().min(0).nullish() }).nullish(),
    })
    .nullish(),
});

/** Reads a schematic (YAML, which includes JSON). Names of extensions are not checked here. */
export function readSchematic(body: string): Schematic {
  try {
    const { overlay, customization } = fields.parse(parse(body));
    const { yaml, id } = canonicalSchematic({ overlay, customization: customization ?? {} });
    const extensions = customization?.systemExtensions?.officialExtensions ?? [];
    return { id, text: yaml, extensions, kernelArgs: customization?.extraKernelArgs ?? [] };
  } catch (error) {
    throw new Refusal(400, (error as Error).message);
  }
}
