import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Document,
  type LineCounter,
  type Node,
  type ScalarTag,
  type YAMLMap,
} from "yaml";
import { rememberingTexts } from "../memory";
import {
  type Bounds,
  boundedDocuments,
  boundsOfFile,
  type Documents,
  ofFiles,
  ofFleets,
  ofMachine,
  ofServers,
  ofStacks,
  tooManyCharacters,
  tooManyEntries,
} from "./yaml-bounds";

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
} as const;

/** Value of a text that is YAML 1.2, as far as it is bounded; undefined of any other. */
export function yamlIn(text: string): unknown {
  const [document, ...others] = plainDocuments(text).documents;
  return document === undefined || others.length > 0 ? undefined : valueOfDocument(document);
}

/**
 * Documents of a text that is YAML 1.2, without what Talos has beyond it. A document lists its mistakes in `errors`.
 * The caller must not change them: for most texts they are the shared documents of `talosDocuments`.
 */
export const plainDocuments = (text: string): Documents =>
  isBeyondPlain.test(text)
    ? read(boundedDocuments(text, {}, boundsOfFile(text)), ofFiles)
    : readAsTalos(text);

/** Where Talos may read another value than YAML 1.2 has: a merge key, or an octal number. */
const isBeyondPlain = /<<|(?<![\w.])0[0-7_]/;

/**
 * Values of a text's documents as YAML 1.2, as far as it is bounded; without those that are empty.
 *
 * @throws Error with what is wrong with the first that has no value.
 */
export function boundedValues(text: string): unknown[] {
  const { documents } = read(boundedDocuments(text, {}, ofServers), ofServers);
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) throw error;
  return documents.map(valueOfDocument).filter((value) => value !== null && value !== undefined);
}

/**
 * Value of a stack file, as Pulumi's own reader takes it, and of a file of credentials, as their clients do: with
 * merge keys.
 *
 * @throws Error with what is wrong with it.
 */
export function boundedYaml(text: string): unknown {
  const { documents } = read(boundedDocuments(text, { merge: true }, ofStacks, true), ofStacks);
  const [document, ...others] = documents as [Document];
  const [error] = document.errors;
  if (error !== undefined) throw error;
  if (others.length > 0) throw new Error("it has more than one document");
  return valueOfDocument(document);
}

/**
 * Documents of a text as Talos reads them. A document lists its mistakes in `errors`; a read of its value never
 * fails. Callers with the same text share the documents: use `ownDocuments` to change them.
 */
export const talosDocuments = (text: string): readonly Document[] => readAsTalos(text).documents;

/** Documents of a text as Talos reads them, which the caller may change. */
export const ownDocuments = (text: string): Document[] => asTalosReads(text).documents;

/** Tokens of a text, as far as it was read. */
export const tokensOf = (text: string): number => readAsTalos(text).tokens;

/** Entries of a text's documents, with those that aliases stand for. */
export const entriesOf = (text: string): number =>
  talosDocuments(text).reduce((sum, document) => sum + (entries.get(document) ?? 0), 0);

const asTalosReads = (text: string): Documents =>
  read(boundedDocuments(text, options, boundsOfFile(text)), ofFiles);

const readAsTalos = rememberingTexts(asTalosReads);

/** The one document of a text as Talos reads it, for who changes it. */
export function talosDocument(text: string): Document {
  const { documents } = read(boundedDocuments(text, options, ofFiles, true), ofFiles);
  return documents[0]!;
}

const values = new WeakMap<Document, unknown>();
const entries = new WeakMap<Document, number>();

/** The value of a document; undefined where its `errors` say why it has none. */
export const valueOfDocument = (document: Document): unknown => values.get(document);

function read(all: Documents, bounds: Bounds): Documents {
  let left: Bounds = bounds;
  for (const document of all.documents) left = readValue(document, left, bounds, all.lineCounter);
  return all;
}

/**
 * Notes the value of a document; or adds an error: for a duplicate key in a mapping; or for an alias that names no
 * anchor, is in its own anchor, or multiplies the content.
 *
 * @param left what of the bounds it may take.
 * @returns what is left for those after it.
 */
function readValue(
  document: Document,
  left: Bounds,
  bounds: Bounds,
  lineCounter: LineCounter,
): Bounds {
  if (document.errors.length > 0) return left;
  const sizes = new Map<Node, Size>();
  const open = new Set<Node>();
  const anchors = new Map<string, Node>();
  const size = (node: unknown): Size => {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target === undefined) throw new Error(`alias *${node.source} names no anchor before it`);
      if (open.has(target)) throw new Error(`alias *${node.source} stands in its own anchor`);
      // By itself it would look through the whole document, each time that it is asked.
      node.resolve = () => target as ReturnType<typeof node.resolve>;
      return size(target);
    }
    if (isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (!isMap(node) && !isSeq(node)) return { entries: 1, characters: lengthOf(node) };
    const known = sizes.get(node);
    if (known !== undefined) return known;
    if (isMap(node)) withoutRepeatedKeys(node, lineCounter);
    open.add(node);
    const total: Size = { entries: 1, characters: 0 };
    for (const part of isMap(node)
      ? node.items.flatMap(({ key, value }) => [key, value])
      : node.items) {
      const { entries, characters } = size(part);
      total.entries += entries;
      total.characters += characters;
    }
    open.delete(node);
    sizes.set(node, total);
    return total;
  };
  try {
    const all = size(document.contents);
    const { characters } = all;
    const most = Math.max(bounds.entries, ofFleets.entries);
    if (all.entries > most) throw tooManyEntries(most);
    const counted = all.entries - entriesOfMachines(document.contents, size);
    if (counted > left.entries) throw tooManyEntries(bounds.entries);
    if (characters > left.characters) throw tooManyCharacters(bounds.characters);
    values.set(document, document.toJS({ maxAliasCount: -1 }));
    entries.set(document, all.entries);
    return { ...left, entries: left.entries - counted, characters: left.characters - characters };
  } catch (error) {
    document.errors.push(
      Object.assign(error as Error, { pos: (error as { pos?: unknown }).pos ?? [0, 0] }) as never,
    );
    return left;
  }
}

/**
 * Entries in a list of machines, but one for each: a list of a thousand is no large file. A machine that is large
 * counts as it is.
 */
function entriesOfMachines(contents: unknown, size: (node: unknown) => Size): number {
  const machines = isMap(contents) ? contents.get("nodes", true) : undefined;
  if (!isSeq(machines)) return 0;
  return machines.items
    .map((machine) => size(machine).entries)
    .filter((count) => count <= ofMachine)
    .reduce((sum, count) => sum + count - 1, 0);
}

/** How much of a text something is, with what its aliases stand for. */
type Size = Pick<Bounds, "entries" | "characters">;

const lengthOf = (node: unknown): number =>
  isScalar(node) && typeof node.value === "string" ? node.value.length : 0;

/** Fails where a key stands twice, with the words of the parser. */
function withoutRepeatedKeys({ items }: YAMLMap, lineCounter: LineCounter): void {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    if (seen.has(key.value)) {
      const at = key.range?.[0] ?? 0;
      const { line, col } = lineCounter.linePos(at);
      throw Object.assign(new Error(`Map keys must be unique at line ${line}, column ${col}:`), {
        pos: [at, at],
      });
    }
    seen.add(key.value);
  }
}
