import { createHash } from "node:crypto";
import { Document, isScalar, Scalar, visit } from "yaml";
import * as z from "zod";
import { defaultFactoryUrl } from "../facts/factory";
import { parseTalosVersion } from "../facts/version";
import { filled, isMapping } from "../mapping";
import { remembering } from "../memory";
import { yamlIn } from "../rules/yaml";
import { boundedDocuments, ofFiles } from "../rules/yaml-bounds";
import type { ClusterSpec, CustomizationSpec, MachineSpec, OverlaySpec } from "../spec/index";

/** Inputs of a machine's image. */
export interface SchematicContent {
  /** Official extensions. Their order affects the schematic's ID. */
  extensions: string[];
  kernelArgs: string[];
  overlay?: OverlaySpec;
  customization?: CustomizationSpec;
}

/** A schematic as the Image Factory stores it. */
export interface Schematic {
  /** Canonical YAML. */
  yaml: string;
  /** ID of the schematic in the Factory: the SHA-256 of the YAML, in hexadecimal. */
  id: string;
}

/**
 * Fields of a schematic in the order in which the Factory writes them. Source: siderolabs/image-factory,
 * pkg/schematic/schematic.go.
 */
const order: Readonly<Record<string, readonly string[]>> = {
  "": ["owner", "overlay", "customization"],
  overlay: ["image", "name", "options"],
  customization: [
    "embeddedMachineConfiguration",
    "extraKernelArgs",
    "meta",
    "systemExtensions",
    "bootloader",
    "secureboot",
    "diskImage",
  ],
  secureboot: ["enrollKeys", "includeWellKnownCertificates"],
  meta: ["key", "value"],
};

function ordered(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => ordered(item, name));
  if (!isMapping(value)) return value;
  const fields = Object.hasOwn(order, name) ? order[name] : undefined;
  const keys = fields ?? Object.keys(value).sort();
  const entries = keys.map((key): [string, unknown] => [key, ordered(value[key], key)]);
  return Object.fromEntries(
    fields ? entries.filter(([key, member]) => !isEmpty(key, member)) : entries,
  );
}

/**
 * Whether Go's `omitempty` leaves a value out. Go leaves out the boot loader `none`, because it is the number 0 in the
 * Factory's type (talos, pkg/imager/profile).
 */
const isEmpty = (key: string, value: unknown): boolean =>
  [undefined, null, "", false, 0].includes(value as null) ||
  (typeof value === "object" && Object.keys(value as object).length === 0) ||
  (key === "bootloader" && value === "none");

/**
 * A schematic in the Image Factory's canonical form, and its ID. The form has the fields in the order of the Factory's
 * struct, four blanks of indentation, no empty fields, and a newline at the end.
 */
export const canonicalSchematic = remembering((schematic: Record<string, unknown>): Schematic => {
  const { customization = {}, ...otherFields } = ordered(schematic, "") as Record<string, unknown>;
  const yaml = written({ ...otherFields, customization });
  return { yaml, id: sha256(yaml) };
});

/**
 * A value as Go's YAML library writes it. A string has quotes only if it needs them, and double quotes if YAML would
 * otherwise read it as another type.
 */
function written(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string") return;
      if (node.value.includes("\n")) node.type = Scalar.BLOCK_LITERAL;
      else if (!isText(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ indent: 4, lineWidth: 0, singleQuote: true });
}

function isText(plain: string): boolean {
  const { documents } = boundedDocuments(plain, { version: "1.1", strict: false }, ofFiles, true);
  const [{ contents }] = documents as [Document];
  return isScalar(contents) ? typeof contents.value === "string" : plain !== "";
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The schematic of an image with this content. */
export const schematicOf = ({
  extensions,
  kernelArgs,
  overlay,
  customization,
}: SchematicContent): Schematic =>
  canonicalSchematic({
    overlay,
    customization: {
      ...customization,
      extraKernelArgs: kernelArgs,
      systemExtensions: extensions.length > 0 ? { officialExtensions: extensions } : undefined,
    },
  });

/**
 * First minor whose installer's name contains the platform. The image then has `talos.platform` on its kernel command
 * line. Source: image-factory, docs/api.md.
 */
const firstPlatformInstaller = 10;

/**
 * Name of an installer image, e.g. `factory.talos.dev/metal-installer/<id>:v1.12.6`; by default for the public Factory
 * and the platform metal.
 */
export function installerImage(
  schematicId: string,
  talosVersion: string,
  options: Pick<MachineSpec, "platform" | "secureBoot"> & Pick<ClusterSpec, "factoryUrl"> = {},
): string {
  const { factoryUrl = defaultFactoryUrl, platform = "metal", secureBoot } = options;
  const host = factoryUrl.replace(/^[a-z]+:\/\//, "").replace(/(?<!\/)\/+$/, "");
  const minor = parseTalosVersion(talosVersion)?.minor ?? Infinity;
  const installer = minor >= firstPlatformInstaller ? `${platform}-installer` : "installer";
  return `${host}/${installer}${secureBoot ? "-secureboot" : ""}/${schematicId}:${talosVersion}`;
}

/** Name of the installer image for another Talos release, with the same schematic and registry. */
export function installerAt(image: string, talosVersion: string): string {
  const { platform, secureBoot } = installerKind(image) ?? { secureBoot: false };
  const [, host = "", schematicId = ""] =
    /^(.*)\/[^/]+\/([0-9a-f]{64})[:@][^/]+$/.exec(image) ?? [];
  return installerImage(schematicId, talosVersion, {
    factoryUrl: host,
    secureBoot,
    ...(platform === undefined ? {} : { platform }),
  });
}

/**
 * Placeholder schematic for an installer image that the user names: it has no content, and its ID is a hash of the
 * image's name.
 */
export const ownSchematic = (image: string): Schematic => ({
  yaml: schematicOf({ extensions: [], kernelArgs: [] }).yaml,
  id: sha256(image),
});

/**
 * Platform and Secure Boot according to the name of an installer image; undefined if the name is not that of an
 * installer. Before Talos 1.10 the name contains no platform, and the installer keeps the machine's platform.
 */
export function installerKind(
  image: string,
): { platform?: string; secureBoot: boolean } | undefined {
  const match =
    /(?:^|\/)(?:([A-Za-z][A-Za-z-]*)-)?installer(-secureboot)?(?:\/[0-9a-f]{64})?(?:[:@]|$)/.exec(
      image,
    );
  if (match === null) return undefined;
  const [, platform, secureBootSuffix] = match;
  return {
    ...(platform === undefined ? {} : { platform }),
    secureBoot: secureBootSuffix !== undefined,
  };
}

const strings = z.array(z.string()).nullish();

/**
 * The fields of a schematic's YAML, without fields that have no effect on an installer (internal/profile/profile.go:
 * META values are only for disk images).
 */
const schematicSchema = z.object({
  overlay: z
    .object({
      image: z.string(),
      name: z.string(),
      options: z.record(z.string(), z.any()).nullish(),
    })
    .nullish(),
  customization: z
    .object({
      embeddedMachineConfiguration: z.string().nullish(),
      extraKernelArgs: strings,
      systemExtensions: z.object({ officialExtensions: strings }).nullish(),
      bootloader: z.string().toLowerCase().nullish(),
      secureboot: z
        .object({
          enrollKeys: z.string().nullish(),
          includeWellKnownCertificates: z.boolean().nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

/**
 * The ID that this package uses for a schematic's image: the ID of the same schematic with sorted extensions. The order
 * of extensions changes a schematic's ID, but not the image. A schematic with unknown fields keeps its own ID.
 *
 * @param text text of the schematic on the machine; undefined if the machine has none.
 */
export function imageId(id: string, text: string | undefined): string {
  const content = text === undefined ? undefined : readSchematic(text);
  if (content === undefined || schematicOf(content).id !== id) return id;
  return schematicOf({ ...content, extensions: [...content.extensions].sort() }).id;
}

/**
 * Reads the parts of a schematic (YAML) that affect a machine on which its image is installed; undefined if the text is
 * not a schematic.
 */
export const readSchematic = remembering((text: string) => {
  const parsed = schematicSchema.safeParse(yamlIn(text));
  if (!parsed.success) return undefined;
  const { overlay, customization } = parsed.data;
  const { bootloader, secureboot } = customization ?? {};
  const further = ordered({ bootloader, secureboot }, "customization") as CustomizationSpec;
  const content: SchematicContent = {
    extensions: customization?.systemExtensions?.officialExtensions ?? [],
    kernelArgs: customization?.extraKernelArgs ?? [],
    ...(overlay?.name ? { overlay: ordered(overlay, "overlay") as OverlaySpec } : {}),
    ...filled({ customization: further }),
  };
  return {
    ...content,
    embeddedMachineConfiguration: (customization?.embeddedMachineConfiguration ?? "") !== "",
  };
});
