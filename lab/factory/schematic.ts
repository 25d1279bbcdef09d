import { createHash } from "node:crypto";
import { Document, isMap, isScalar, isSeq, LineCounter, parseDocument, Scalar, visit, type Node } from "yaml";

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

/** A Go type: a plain one, a list, or a struct of the package, with its fields. */
type Kind = "string" | "bool" | "uint8" | "uint" | "bootloader" | "any" | readonly [Kind] | Struct;
interface Struct {
  type: string;
  fields: { [field: string]: Kind };
}

const struct = (type: string, fields: Struct["fields"]): Struct => ({ type: `schematic.${type}`, fields });

/** Fields in the order in which they are written. With a `!` they are written even when they are empty, the others only with a value. */
const schematic = struct("Schematic", {
  owner: "string",
  overlay: struct("Overlay", { "image!": "string", "name!": "string", options: "any" }),
  "customization!": struct("Customization", {
    embeddedMachineConfiguration: "string",
    extraKernelArgs: ["string"],
    meta: [struct("MetaValue", { "key!": "uint8", "value!": "string" })],
    systemExtensions: struct("SystemExtensions", { officialExtensions: ["string"] }),
    bootloader: "bootloader",
    secureboot: struct("SecureBootCustomization", { enrollKeys: "string", includeWellKnownCertificates: "bool" }),
    diskImage: struct("DiskImage", { sectorSize: "uint" }),
  }),
});

const typeOf = (kind: Kind): string =>
  typeof kind === "string" ? kind : "type" in kind ? kind.type : `[]${typeOf(kind[0])}`;

const bootloaders: unknown[] = ["none", "dual-boot", "sd-boot", "grub"];

/** Reads a schematic (YAML, of which JSON is a part). Names of extensions are not looked up: any will do here. */
export function readSchematic(body: string): Schematic {
  const lines = new LineCounter();
  const document = parseDocument(body, { lineCounter: lines });
  const [broken] = document.errors;
  if (broken) throw new InvalidSchematic(`yaml: ${broken.message.split("\n")[0]}`); // in our parser's words
  if (document.contents === null) throw new InvalidSchematic("EOF");
  const problems: string[] = [];
  const value = read(schematic, document.contents, (node, problem) =>
    problems.push(`line ${lines.linePos(node.range![0]).line}: ${problem}`),
  ) as Record<string, any>;
  if (problems.length > 0) throw new InvalidSchematic(["yaml: construct errors:", ...problems].join("\n  "));
  if (value["owner"]) throw new InvalidSchematic("owner field is only supported in Enterprise edition");
  const canonical = write(value);
  return {
    id: createHash("sha256").update(canonical).digest("hex"),
    text: canonical,
    extensions: value["customization"]?.systemExtensions?.officialExtensions ?? [],
    kernelArgs: value["customization"]?.extraKernelArgs ?? [],
  };
}

type Refuse = (node: Node, problem: string) => void;

/** Just what is to be written of a value. */
function read(kind: Kind, node: Node | null, refuse: Refuse): unknown {
  const isNull = node === null || (isScalar(node) && node.value === null);
  if (kind === "any") return isNull ? undefined : sorted(node.toJSON());
  const misfit = (): undefined => refuse(node!, `cannot construct ${shown(node!)} into ${typeOf(kind)}`) as undefined;
  if (typeof kind === "string") {
    if (isNull) return kind === "string" ? "" : undefined;
    if (!isScalar(node)) return misfit();
    const { value, source = "" } = node;
    if (kind === "string") return typeof value === "string" ? value : source;
    if (kind === "bootloader" && !bootloaders.includes(value))
      return refuse(node, `${source} does not belong to BootloaderKind values`);
    const whole = Number.isInteger(value) && Number(value) >= 0 && (kind === "uint" || Number(value) <= 255);
    return kind === "bootloader" || (kind === "bool" ? typeof value === "boolean" : whole) ? value : misfit();
  }
  if (!("type" in kind)) {
    if (isNull) return [];
    return isSeq<Node>(node) ? node.items.map((item) => read(kind[0], item, refuse)) : misfit();
  }
  if (!isNull && !isMap<Scalar<string>, Node>(node)) return misfit();
  const fields = Object.entries(kind.fields).map(([name, of]) => {
    const field = name.replace("!", "");
    return { field, of, always: field !== name };
  });
  const given = new Map<string, unknown>();
  for (const { key, value } of isMap<Scalar<string>, Node>(node) ? node.items : []) {
    const known = fields.find(({ field }) => field === key.value);
    if (known === undefined) refuse(key, `field ${key.value} not found in type ${kind.type}`);
    else given.set(key.value, read(known.of, value, refuse));
  }
  const values = fields.map(
    ({ field, of, always }) => [field, given.has(field) ? given.get(field) : read(of, null, refuse), always] as const,
  );
  const isEmptyStruct = kind !== schematic && values.every(([, one]) => isEmpty(one));
  const written = values.filter(([, one, always]) => !isEmptyStruct && (always || !isEmpty(one)));
  return Object.fromEntries(written.map(([field, one]) => [field, one ?? {}]));
}

/** A value as Go's YAML library names it: a long one by its beginning. */
function shown(node: Node): string {
  if (!isScalar(node)) return isSeq(node) ? "!!seq" : "!!map";
  const tag = { string: "str", boolean: "bool" }[typeof node.value as string] ?? (Number.isInteger(node.value) ? "int" : "float"); // prettier-ignore
  const source = node.source ?? "";
  return `!!${tag} \`${source.length > 10 ? `${source.slice(0, 7)}...` : source}\``;
}

/** A value whose maps have the order in which Go writes them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, of]) => [key, sorted(of)]));
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
  return isScalar(document.contents) ? typeof document.contents.value !== "string" : plain === "";
}
