import {
  isAlias,
  isMap,
  isSeq,
  parse,
  parseAllDocuments,
  parseDocument,
  type Document,
  type Node,
  type ScalarTag,
} from "yaml";

/** A number such as `0600`, which Talos' decoder takes for octal (go-yaml, resolve.go: ParseInt with base 0). */
const octal: ScalarTag = {
  identify: (value) => typeof value === "number",
  default: true,
  tag: "tag:yaml.org,2002:int",
  test: /^[-+]?0[0-7_]+$/,
  resolve: (text) => parseInt(text.replaceAll("_", ""), 8),
  // Written as an octal number again, as YAML 1.2 has it: a reader knows `0o644` for a file's mode, and 420 not.
  format: "OCT",
  stringify: ({ value }) => `0o${(value as number).toString(8)}`,
};

/** How Talos reads YAML: 1.2 with the merge keys and the octal numbers of 1.1. */
const options = {
  merge: true,
  customTags: (tags: (ScalarTag | object)[]) => [octal, ...tags],
  logLevel: "error",
} as const;

/** Value of a text that is YAML 1.2; undefined of any other. */
export function yamlIn(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** The most nodes that a document may have once its aliases are written out; go-yaml has such a limit, too. */
const mostNodes = 100_000;

/** Documents of a text as Talos reads them. What is wrong with one stands in its `errors`; asking for its value never fails. */
export function talosDocuments(text: string): Document[] {
  const documents = parseAllDocuments(text, options as object);
  return (Array.isArray(documents) ? documents : []).map((document) => withSoundAliases(document));
}

/** The one document of a text as Talos reads it. */
export const talosDocument = (text: string): Document => withSoundAliases(parseDocument(text, options as object));

const values = new WeakMap<Document, unknown>();

/** The value of a document; undefined where its `errors` say why it has none. */
export const valueOfDocument = (document: Document): unknown => values.get(document);

/**
 * Adds an error where an alias names no anchor, stands in its own anchor, or multiplies what is there beyond measure; else
 * notes the value.
 */
function withSoundAliases(document: Document): Document {
  if (document.errors.length > 0) return document;
  const sizes = new Map<Node, number>();
  const open = new Set<Node>();
  const size = (node: unknown): number => {
    if (isAlias(node)) {
      const target = node.resolve(document) as Node | undefined;
      if (target === undefined) throw new Error(`alias *${node.source} names no anchor before it`);
      if (open.has(target)) throw new Error(`alias *${node.source} stands in its own anchor`);
      return size(target);
    }
    if (!isMap(node) && !isSeq(node)) return 1;
    const known = sizes.get(node);
    if (known !== undefined) return known;
    open.add(node);
    const parts: unknown[] = isMap(node) ? node.items.flatMap(({ key, value }) => [key, value]) : node.items;
    const total = parts.reduce<number>((sum, part) => sum + size(part), 1);
    open.delete(node);
    sizes.set(node, total);
    return total;
  };
  try {
    if (size(document.contents) > mostNodes) throw new Error("its aliases make it too large");
    values.set(document, document.toJS({ maxAliasCount: -1 }));
  } catch (error) {
    document.errors.push(error as (typeof document.errors)[number]);
  }
  return document;
}
