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

/** A number such as `0600`, which Talos' decoder reads as octal (go-yaml, resolve.go: ParseInt with base 0). */
const octal: ScalarTag = {
  identify: (value) => typeof value === "number",
  default: true,
  tag: "tag:yaml.org,2002:int",
  test: /^[-+]?0[0-7_]+$/,
  resolve: (text) => parseInt(text.replaceAll("_", ""), 8),
  // It is written in the octal notation of YAML 1.2, because a reader knows `0o644` as a file's mode, but not 420.
  format: "OCT",
  stringify: ({ value }) => `0o${(value as number).toString(8)}`,
};

/** Options for YAML as Talos reads it: 1.2 with the merge keys and the octal numbers of 1.1. */
const options = {
  merge: true,
  customTags: (tags: (ScalarTag | object)[]) => [octal, ...tags],
} as const;

/** Value of a text in YAML 1.2; undefined if the text is invalid, beyond the bounds, or not exactly one document. */
export function yamlIn(text: string): unknown {
  const [document, ...otherDocuments] = plainDocuments(text).documents;
  return document === undefined || otherDocuments.length > 0
    ? undefined
    : valueOfDocument(document);
}

/**
 * Documents of a text in YAML 1.2, without Talos' additions. A document lists its mistakes in `errors`. The caller must
 * not change the documents, because for most texts other callers of `talosDocuments` share them.
 */
export const plainDocuments = (text: string): Documents =>
  isBeyondPlain.test(text)
    ? read(boundedDocuments(text, {}, boundsOfFile(text)), ofFiles)
    : readAsTalos(text);

/** Pattern of texts that Talos may read differently from YAML 1.2: they contain a merge key or an octal number. */
const isBeyondPlain = /<<|(?<![\w.])0[0-7_]/;

/**
 * Values of the documents of a text in YAML 1.2, without empty documents.
 *
 * @throws Error with the first mistake in the documents.
 */
export function boundedValues(text: string): unknown[] {
  const { documents } = read(boundedDocuments(text, {}, ofServers), ofServers);
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined) throw error;
  return documents.map(valueOfDocument).filter((value) => value !== null && value !== undefined);
}

/**
 * Value of a stack file or of a file of credentials. Like Pulumi and the clients that read credentials, the function
 * supports merge keys.
 *
 * @throws Error with the mistake.
 */
export function boundedYaml(text: string): unknown {
  const { documents } = read(boundedDocuments(text, { merge: true }, ofStacks, true), ofStacks);
  const [document, ...otherDocuments] = documents as [Document];
  const [error] = document.errors;
  if (error !== undefined) throw error;
  if (otherDocuments.length > 0) throw new Error("it has more than one document");
  return valueOfDocument(document);
}

/**
 * Documents of a text as Talos reads them. A document lists its mistakes in `errors`; `valueOfDocument` never fails.
 * Callers with the same text share the documents: use `ownDocuments` to change them.
 */
export const talosDocuments = (text: string): readonly Document[] => readAsTalos(text).documents;

/** New documents of a text as Talos reads them. The caller may change them. */
export const ownDocuments = (text: string): Document[] => asTalosReads(text).documents;

/** Number of YAML tokens in a text. For a text beyond the bounds, only the tokens that were read count. */
export const tokensOf = (text: string): number => readAsTalos(text).tokens;

/** Number of entries in a text's documents, including the entries of aliases. */
export const entriesOf = (text: string): number =>
  talosDocuments(text).reduce((sum, document) => sum + (entries.get(document) ?? 0), 0);

const asTalosReads = (text: string): Documents =>
  read(boundedDocuments(text, options, boundsOfFile(text)), ofFiles);

const readAsTalos = rememberingTexts(asTalosReads);

/** A new single document of a text as Talos reads it. The caller may change it. */
export function talosDocument(text: string): Document {
  const { documents } = read(boundedDocuments(text, options, ofFiles, true), ofFiles);
  return documents[0]!;
}

const values = new WeakMap<Document, unknown>();
const entries = new WeakMap<Document, number>();

/** The value of a document; undefined if `errors` contains the reason. */
export const valueOfDocument = (document: Document): unknown => values.get(document);

function read(parsed: Documents, bounds: Bounds): Documents {
  let remaining: Bounds = bounds;
  for (const document of parsed.documents)
    remaining = readValue(document, remaining, bounds, parsed.lineCounter);
  return parsed;
}

/**
 * Records the value of a document, or adds an error to the document. Errors are a duplicate key, a document beyond the
 * bounds, an alias that names no anchor, and an alias within its own anchor.
 *
 * @param remaining bounds for this document, after the documents before it are subtracted.
 * @returns the bounds for the next document.
 */
function readValue(
  document: Document,
  remaining: Bounds,
  bounds: Bounds,
  lineCounter: LineCounter,
): Bounds {
  if (document.errors.length > 0) return remaining;
  const sizes = new Map<Node, Size>();
  const open = new Set<Node>();
  const anchors = new Map<string, Node>();
  const size = (node: unknown): Size => {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target === undefined) throw new Error(`alias *${node.source} has no anchor before it`);
      if (open.has(target)) throw new Error(`alias *${node.source} is part of its own anchor`);
      // The library's own method would search the whole document at each call.
      node.resolve = () => target as ReturnType<typeof node.resolve>;
      return size(target);
    }
    if (isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (!isMap(node) && !isSeq(node)) return { entries: 1, characters: lengthOf(node) };
    const knownSize = sizes.get(node);
    if (knownSize !== undefined) return knownSize;
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
    const totalSize = size(document.contents);
    const { characters } = totalSize;
    const maxEntries = Math.max(bounds.entries, ofFleets.entries);
    if (totalSize.entries > maxEntries) throw tooManyEntries(maxEntries);
    const countedEntries = totalSize.entries - entriesOfMachines(document.contents, size);
    if (countedEntries > remaining.entries) throw tooManyEntries(bounds.entries);
    if (characters > remaining.characters) throw tooManyCharacters(bounds.characters);
    values.set(document, document.toJS({ maxAliasCount: -1 }));
    entries.set(document, totalSize.entries);
    return {
      ...remaining,
      entries: remaining.entries - countedEntries,
      characters: remaining.characters - characters,
    };
  } catch (error) {
    document.errors.push(
      Object.assign(error as Error, { pos: (error as { pos?: unknown }).pos ?? [0, 0] }) as never,
    );
    return remaining;
  }
}

/**
 * Number of entries that do not count, because they are in the list of machines `nodes`. A machine with at most
 * `ofMachine` entries counts as one entry.
 */
function entriesOfMachines(contents: unknown, size: (node: unknown) => Size): number {
  const machines = isMap(contents) ? contents.get("nodes", true) : undefined;
  if (!isSeq(machines)) return 0;
  return machines.items
    .map((machine) => size(machine).entries)
    .filter((count) => count <= ofMachine)
    .reduce((sum, count) => sum + count - 1, 0);
}

/** Size of a node of a document, with the content of its aliases. */
type Size = Pick<Bounds, "entries" | "characters">;

const lengthOf = (node: unknown): number =>
  isScalar(node) && typeof node.value === "string" ? node.value.length : 0;

/** Throws the parser's error for a duplicate key. */
function withoutRepeatedKeys({ items }: YAMLMap, lineCounter: LineCounter): void {
  const keys = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    if (keys.has(key.value)) {
      const offset = key.range?.[0] ?? 0;
      const { line, col } = lineCounter.linePos(offset);
      throw Object.assign(new Error(`Map keys must be unique at line ${line}, column ${col}:`), {
        pos: [offset, offset],
      });
    }
    keys.add(key.value);
  }
}
