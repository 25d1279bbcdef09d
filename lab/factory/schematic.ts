import { createHash } from "node:crypto";
import { Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, Scalar, visit } from "yaml";

// A schematic as the Image Factory reads, orders and names it.
// Source: siderolabs/image-factory v1.3, pkg/schematic/schematic.go (fields and their order) and its tests (IDs, messages).

/** A schematic that the Factory refuses; the message is the body of its answer. */
export class InvalidSchematic extends Error {}

/** A schematic that the Factory knows. */
export interface Schematic {
  /** SHA-256 of the canonical text, hexadecimal. */
  readonly id: string;
  /** Canonical text (YAML). */
  readonly text: string;
  /** Official extensions in the order given: another order is another schematic. */
  readonly extensions: readonly string[];
}

type Kind =
  | { is: "string" | "boolean" | "any" }
  | { is: "integer"; most: number }
  | { is: "choice"; of: readonly string[]; zero: string }
  | { is: "list"; of: Kind }
  | { is: "struct"; name: string; fields: Record<string, Kind>; always?: readonly string[] };

const text: Kind = { is: "string" };

/** Fields in the order in which they are written. `always`: written even when empty; the others only with a value. */
const schematic: Kind = {
  is: "struct",
  name: "schematic.Schematic",
  always: ["customization"],
  fields: {
    owner: text,
    overlay: {
      is: "struct",
      name: "schematic.Overlay",
      always: ["image", "name"],
      fields: { image: text, name: text, options: { is: "any" } },
    },
    customization: {
      is: "struct",
      name: "schematic.Customization",
      fields: {
        embeddedMachineConfiguration: text,
        extraKernelArgs: { is: "list", of: text },
        meta: {
          is: "list",
          of: {
            is: "struct",
            name: "schematic.MetaValue",
            always: ["key", "value"],
            fields: { key: { is: "integer", most: 255 }, value: text },
          },
        },
        systemExtensions: {
          is: "struct",
          name: "schematic.SystemExtensions",
          fields: { officialExtensions: { is: "list", of: text } },
        },
        bootloader: { is: "choice", of: ["none", "dual-boot", "sd-boot", "grub"], zero: "none" },
        secureboot: {
          is: "struct",
          name: "schematic.SecureBootCustomization",
          fields: { enrollKeys: text, includeWellKnownCertificates: { is: "boolean" } },
        },
        diskImage: {
          is: "struct",
          name: "schematic.DiskImageCustomization",
          fields: { sectorSize: { is: "integer", most: Number.MAX_SAFE_INTEGER } },
        },
      },
    },
  },
};

/** Reads a schematic (YAML, of which JSON is a part). Names of extensions are not looked up: any will do here. */
export function readSchematic(body: string): Schematic {
  const lines = new LineCounter();
  const document = parseDocument(body, { lineCounter: lines });
  const [broken] = document.errors;
  if (broken) throw new InvalidSchematic(`yaml: ${broken.message.split("\n")[0]}`);
  if (document.contents === null) throw new InvalidSchematic("EOF");
  const found: string[] = [];
  const decode = new Decoder(document, found, lines);
  const value = decode.value(schematic, document.contents) as Record<string, any>;
  if (found.length > 0) throw new InvalidSchematic(`yaml: construct errors: ${found.join("; ")}`);
  if (value["owner"]) throw new InvalidSchematic("owner field is only supported in Enterprise edition");
  const canonical = write(value);
  return {
    id: createHash("sha256").update(canonical).digest("hex"),
    text: canonical,
    extensions: value["customization"]?.systemExtensions?.officialExtensions ?? [],
  };
}

/** Turns nodes into values that hold just what is to be written, and collects what does not fit. */
class Decoder {
  constructor(
    private readonly document: Document.Parsed,
    private readonly found: string[],
    private readonly lines: LineCounter,
  ) {}

  value(kind: Kind, node: unknown): unknown {
    if (isAlias(node)) return this.value(kind, node.resolve(this.document));
    if (isScalar(node) && node.value === null) return undefined;
    if (kind.is === "any") return (node as { toJSON(): unknown }).toJSON();
    if (kind.is === "struct") return this.struct(kind, node);
    if (kind.is === "list") return this.list(kind.of, node);
    return this.scalar(kind, node);
  }

  private struct(kind: Extract<Kind, { is: "struct" }>, node: unknown): unknown {
    if (!isMap(node)) return this.misfit(node, kind.name);
    const given = new Map<string, unknown>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : String(key);
      const field = kind.fields[name];
      if (field) given.set(name, this.value(field, value));
      else this.found.push(`line ${this.line(key)}: field ${name} not found in type ${kind.name}`);
    }
    const values = Object.entries(kind.fields).map(([name, field]) => [name, given.get(name) ?? zero(field)] as const);
    if (kind.name !== "schematic.Schematic" && values.every(([, value]) => isEmpty(value))) return undefined;
    return Object.fromEntries(values.filter(([name, value]) => kind.always?.includes(name) || !isEmpty(value)));
  }

  private list(of: Kind, node: unknown): unknown {
    if (!isSeq(node)) return this.misfit(node, "[]string");
    return node.items.map((item) => this.value(of, item) ?? zero(of));
  }

  private scalar(kind: Kind, node: unknown): unknown {
    if (!isScalar(node)) return this.misfit(node, kind.is === "boolean" ? "bool" : "string");
    if (kind.is === "string") return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
    if (kind.is === "boolean") return typeof node.value === "boolean" ? node.value : this.misfit(node, "bool");
    if (kind.is === "choice") {
      return kind.of.includes(String(node.value)) ? node.value : this.misfit(node, "imageropts.BootloaderKind");
    }
    const most = kind.is === "integer" ? kind.most : 0;
    const whole = Number.isInteger(node.value) && (node.value as number) >= 0 && (node.value as number) <= most;
    return whole ? node.value : this.misfit(node, most === 255 ? "uint8" : "uint");
  }

  private misfit(node: unknown, type: string): undefined {
    this.found.push(`line ${this.line(node)}: cannot construct ${String(node).trim()} into ${type}`);
    return undefined;
  }

  private line(node: unknown): number {
    const at = (node as { range?: [number, number, number] }).range?.[0] ?? 0;
    return this.lines.linePos(at).line || 1;
  }
}

function zero(kind: Kind): unknown {
  if (kind.is === "string") return "";
  if (kind.is === "boolean") return false;
  if (kind.is === "integer") return 0;
  if (kind.is === "struct" && kind.name === "schematic.Customization") return {};
  return undefined;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === "" ||
  value === false ||
  value === 0 ||
  value === "none" ||
  (Array.isArray(value) && value.length === 0) ||
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
