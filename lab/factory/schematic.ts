import { createHash } from "node:crypto";
import { Document, isScalar, parseDocument, Scalar, visit } from "yaml";

// A schematic as the Image Factory reads, orders and names it.
// Source: siderolabs/image-factory v1.3, pkg/schematic/schematic.go (fields and their order) and its tests (IDs).

/** A schematic that the Factory refuses; the message is the body of its answer. */
export class InvalidSchematic extends Error {}

/** A schematic that the Factory knows. */
export interface Schematic {
  /** SHA-256 of the canonical text, hexadecimal. */
  readonly id: string;
  readonly text: string;
  /** Official extensions in the order given: another order is another schematic. */
  readonly extensions: readonly string[];
  readonly kernelArgs: readonly string[];
}

type Kind = "string" | "boolean" | "byte" | "uint" | "bootloader" | "any" | readonly [Kind] | { [field: string]: Kind };

/** Fields in the order in which they are written. With a `!` they are written even when they are empty, the others only with a value. */
const schematic: Kind = {
  owner: "string",
  overlay: { "image!": "string", "name!": "string", options: "any" },
  "customization!": {
    embeddedMachineConfiguration: "string",
    extraKernelArgs: ["string"],
    meta: [{ "key!": "byte", "value!": "string" }],
    systemExtensions: { officialExtensions: ["string"] },
    bootloader: "bootloader",
    secureboot: { enrollKeys: "string", includeWellKnownCertificates: "boolean" },
    diskImage: { sectorSize: "uint" },
  },
};

const bootloaders: unknown[] = ["none", "dual-boot", "sd-boot", "grub"];

/** Reads a schematic (YAML, of which JSON is a part). Names of extensions are not looked up: any will do here. */
export function readSchematic(body: string): Schematic {
  const document = parseDocument(body);
  const [broken] = document.errors;
  if (broken) throw new InvalidSchematic(`yaml: ${broken.message.split("\n")[0]}`);
  if (document.contents === null) throw new InvalidSchematic("EOF");
  const value = read(schematic, document.toJS(), "schematic") as Record<string, any>;
  if (value["owner"]) throw new InvalidSchematic("owner field is only supported in Enterprise edition");
  const canonical = write(value);
  return {
    id: createHash("sha256").update(canonical).digest("hex"),
    text: canonical,
    extensions: value["customization"]?.systemExtensions?.officialExtensions ?? [],
    kernelArgs: value["customization"]?.extraKernelArgs ?? [],
  };
}

/** Just what is to be written of a value. */
function read(kind: Kind, value: unknown, type: string): unknown {
  const refuse = (): never => {
    throw new InvalidSchematic(`yaml: construct errors: cannot construct ${JSON.stringify(value)} into ${type}`);
  };
  if (kind === "any") return value;
  if (typeof kind === "string") {
    const isObject = typeof value === "object" && value !== null;
    const whole = (most: number): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most;
    const fits = {
      string: !isObject,
      boolean: typeof value === "boolean",
      byte: whole(255),
      uint: whole(Number.MAX_SAFE_INTEGER),
      bootloader: bootloaders.includes(value),
    }[kind];
    if (value === null || value === undefined) return kind === "string" ? "" : undefined;
    if (!fits) refuse();
    return kind === "string" && typeof value !== "string" ? JSON.stringify(value) : value;
  }
  if (Array.isArray(kind)) {
    if (value !== null && !Array.isArray(value)) refuse();
    return ((value ?? []) as unknown[]).map((item) => read(kind[0] as Kind, item, type));
  }
  if (typeof value !== "object" || Array.isArray(value)) refuse();
  const given = (value ?? {}) as Record<string, unknown>;
  const fields = Object.entries(kind).map(([field, of]) => [field.replace("!", ""), of, field.endsWith("!")] as const);
  const unknown = Object.keys(given).find((key) => !fields.some(([field]) => field === key));
  if (unknown !== undefined)
    throw new InvalidSchematic(`yaml: construct errors: field ${unknown} not found in type ${type}`);
  const values = fields.map(([field, of, always]) => [field, read(of, given[field] ?? null, field), always] as const);
  const isEmptyStruct = type !== "schematic" && values.every(([, one]) => isEmpty(one));
  const written = values.filter(([, one, always]) => !isEmptyStruct && (always || !isEmpty(one)));
  return Object.fromEntries(written.map(([field, one]) => [field, one ?? {}]));
}

const isEmpty = (value: unknown): boolean =>
  [undefined, null, "", false, 0, "none"].includes(value as never) ||
  (typeof value === "object" && Object.keys(value as object).length === 0);

/** Four spaces of indent, lists indented below their key, quotes only where needed: what Go's YAML library writes. */
function write(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string") return;
      if (node.value.includes("\n")) node.type = Scalar.BLOCK_LITERAL;
      else if (readsAsOther(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ indent: 4, lineWidth: 0, singleQuote: true });
}

/** Whether the text without quotes would be read back as null, a boolean or a number. */
function readsAsOther(plain: string): boolean {
  const document = parseDocument(plain, { version: "1.1", strict: false });
  return isScalar(document.contents) ? typeof document.contents.value !== "string" : document.contents === null;
}
