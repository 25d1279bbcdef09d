import { createHash } from "node:crypto";
import { stringify } from "yaml";
import { remember } from "../memory";

/** What a machine's image is made of. */
export interface SchematicContent {
  /** Official extensions, in the order in which they shall stand: the order is part of the ID. */
  extensions: string[];
  kernelArgs: string[];
}

/** A schematic as the Image Factory stores it. */
export interface Schematic {
  /** Canonical YAML. */
  yaml: string;
  /** SHA-256 of it, in hexadecimal: the Factory's ID. */
  id: string;
}

const known = new Map<string, Schematic>();

/**
 * The Image Factory's canonical form of a schematic, and its ID: fields in the order of the Factory's struct, indented by
 * four, empty ones left out, a newline at the end. Source: siderolabs/image-factory, pkg/schematic/schematic.go.
 */
export function schematicOf(content: SchematicContent): Schematic {
  const customization = {
    ...(content.kernelArgs.length > 0 ? { extraKernelArgs: content.kernelArgs } : {}),
    ...(content.extensions.length > 0 ? { systemExtensions: { officialExtensions: content.extensions } } : {}),
  };
  const key = JSON.stringify(customization);
  let schematic = known.get(key);
  if (!schematic) {
    const yaml = stringify({ customization }, { indent: 4, lineWidth: 0, singleQuote: true });
    schematic = { yaml, id: createHash("sha256").update(yaml).digest("hex") };
    remember(known, key, schematic);
  }
  return schematic;
}

/** What an installer image's name depends on. */
export interface InstallerArgs {
  /** URL of the Image Factory. */
  factoryUrl: string;
  schematicId: string;
  /** Talos release, e.g. `v1.12.6`. */
  talosVersion: string;
  /** Minor of it. */
  minor: number;
  /** Image Factory platform, e.g. `metal`. */
  platform: string;
  secureBoot: boolean;
}

/** First minor whose installer is named after its platform: the kernel command line of the image says `talos.platform`. Source: image-factory, docs/api.md. */
const firstPlatformInstaller = 10;

/** Installer image, e.g. `factory.talos.dev/metal-installer/<id>:v1.12.6`. */
export function installerImage(args: InstallerArgs): string {
  const host = args.factoryUrl.replace(/^[a-z]+:\/\//, "").replace(/\/+$/, "");
  const installer = args.minor >= firstPlatformInstaller ? `${args.platform}-installer` : "installer";
  return `${host}/${installer}${args.secureBoot ? "-secureboot" : ""}/${args.schematicId}:${args.talosVersion}`;
}
