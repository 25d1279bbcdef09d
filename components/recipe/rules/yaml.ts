import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parse,
  parseAllDocuments,
  parseDocument,
  type Document,
  type Node,
  type ScalarTag,
  type YAMLMap,
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
  // The parser compares each key with every other one, which takes the square of their number: `withoutRepeatedKeys` does not.
  uniqueKeys: false,
} as const;

/** Value of a text that is YAML 1.2; undefined of any other. */
export function yamlIn(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The most nodes that a text may have once its aliases are written out; go-yaml has such a limit, too. A machine's configuration has some
 * hundreds, and what judges them compares some with each other.
 */
const mostNodes = 10_000;

const tooLarge = (): Error => new Error(`it has more than ${mostNodes} entries, with its aliases written out`);

/** Documents of a text as Talos reads them. What is wrong with one stands in its `errors`; asking for its value never fails. */
export function talosDocuments(text: string): Document[] {
  const lineCounter = new LineCounter();
  const parsed = parseAllDocuments(text, { ...options, lineCounter } as object);
  const documents = Array.isArray(parsed) ? parsed : [];
  let left = mostNodes;
  for (const document of documents) left -= readValue(document, left, lineCounter);
  return documents;
}

/** The one document of a text as Talos reads it. */
export function talosDocument(text: string): Document {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { ...options, lineCounter } as object);
  readValue(document, mostNodes, lineCounter);
  return document;
}

const values = new WeakMap<Document, unknown>();

/** The value of a document; undefined where its `errors` say why it has none. */
export const valueOfDocument = (document: Document): unknown => values.get(document);

/**
 * Notes the value of a document; or adds an error where a key stands twice in a mapping, or where an alias names no anchor, stands in
 * its own anchor, or multiplies what is there beyond measure.
 *
 * @param most nodes that it may have.
 * @returns the number of its nodes.
 */
function readValue(document: Document, most: number, lineCounter: LineCounter): number {
  if (document.errors.length > 0) return 0;
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
    if (isMap(node)) withoutRepeatedKeys(node, lineCounter);
    open.add(node);
    const parts: unknown[] = isMap(node) ? node.items.flatMap(({ key, value }) => [key, value]) : node.items;
    const total = parts.reduce<number>((sum, part) => sum + size(part), 1);
    open.delete(node);
    sizes.set(node, total);
    return total;
  };
  try {
    const nodes = size(document.contents);
    if (nodes > most) throw tooLarge();
    values.set(document, document.toJS({ maxAliasCount: -1 }));
    return nodes;
  } catch (error) {
    document.errors.push(error as (typeof document.errors)[number]);
    return 0;
  }
}

/** Fails where a key stands twice, with the words of the parser. */
function withoutRepeatedKeys({ items }: YAMLMap, lineCounter: LineCounter): void {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    if (seen.has(key.value)) {
      const { line, col } = lineCounter.linePos(key.range?.[0] ?? 0);
      throw new Error(`Map keys must be unique at line ${line}, column ${col}:`);
    }
    seen.add(key.value);
  }
}
