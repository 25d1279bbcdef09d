import { isCollection, isNode, visit } from "yaml";
import { anyText, isMapping, valueAt } from "../mapping";
import { plainDocuments, valueOfDocument } from "../rules/yaml";

/** A user's file: its name for messages, and its text. */
export interface OutsideFile {
  name: string;
  text: string;
}

/** A place in a file. */
export interface Place {
  file: string;
  /** Line number, from 1 on. */
  line: number;
}

/** A part of a file that could not be read. */
export type DocumentFinding = Place & { problem: string };

/** One object in a file: a document, or an item of a list (`kind: List`). */
export interface Doc {
  place: Place;
  root: Record<string, unknown>;
  contents: unknown;
  lineAt: (offset: number) => number;
}

/** Chart values, and the place of each value by its path. */
export interface Values {
  values: Record<string, unknown>;
  places: Record<string, Place>;
}

/** No chart values, and no places. */
export const noValues: Values = { values: {}, places: {} };

/**
 * The YAML documents of a file that are mappings. The function adds to `flaws` a finding for each document that is not
 * YAML.
 */
export function documentsOf({ name: file, text }: OutsideFile, flaws: DocumentFinding[]): Doc[] {
  const { documents, lineCounter } = plainDocuments(text);
  const lineAt = (offset: number): number => lineCounter.linePos(offset).line;
  return documents.flatMap((document): Doc[] => {
    const [error] = document.errors;
    if (error) {
      const problem = (error.message.split("\n")[0] ?? "").replace(/ at line.*$/, "");
      flaws.push({ file, line: lineAt(error.pos[0]), problem: `is not YAML: ${problem}` });
      return [];
    }
    const objects = (root: unknown, contents: unknown): Doc[] => {
      if (!isMapping(root) || !isNode(contents)) return [];
      const { kind, items } = root;
      if (/List$/.test(anyText(kind)) && Array.isArray(items))
        return items.flatMap((item, index) =>
          objects(item, nodeAt(contents, ["items", String(index)])),
        );
      return [{ place: { file, line: lineAt(contents.range?.[0] ?? 0) }, root, contents, lineAt }];
    };
    return objects(valueOfDocument(document), document.contents);
  });
}

/** Index of documents, so that a lookup need not search all documents. */
export interface DocIndex {
  /** Documents by kind and `metadata.name`. */
  named(kind: unknown, name: string | undefined): readonly Doc[];
  /** First document of each file. */
  ofFile(file: string): Doc | undefined;
}

const shelves = new WeakMap<readonly Doc[], DocIndex>();

/** The index of a list of documents. The function makes it once for each list. */
export function indexOf(docs: readonly Doc[]): DocIndex {
  const existingIndex = shelves.get(docs);
  if (existingIndex !== undefined) return existingIndex;
  const byName = new Map<string, Doc[]>();
  const byFile = new Map<string, Doc>();
  const keyOf = (kind: unknown, name: unknown): string =>
    JSON.stringify([anyText(kind), name ?? null]);
  for (const doc of docs) {
    const key = keyOf(doc.root["kind"], textAt(doc.root, "metadata", "name"));
    const docsOfName = byName.get(key);
    if (docsOfName === undefined) byName.set(key, [doc]);
    else docsOfName.push(doc);
    if (!byFile.has(doc.place.file)) byFile.set(doc.place.file, doc);
  }
  const index: DocIndex = {
    named: (kind, name) => byName.get(keyOf(kind, name)) ?? [],
    ofFile: (file) => byFile.get(file),
  };
  shelves.set(docs, index);
  return index;
}

/** Node at a path below a node. */
const nodeAt = (contents: unknown, path: string[]): unknown =>
  path.length === 0
    ? contents
    : isCollection(contents)
      ? contents.getIn(
          path.map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
          true,
        )
      : undefined;

/**
 * The text at a path; undefined if the value is no text or is empty. A version such as `0.17` is a number in YAML, so
 * the result is undefined.
 */
export const textAt = (data: unknown, ...path: string[]): string | undefined => {
  const value = valueAt(data, ...path);
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** Chart values at a path of a document. The document has them as a mapping, or as a text that contains YAML. */
export function valuesAt(doc: Doc, path: string[]): Values | undefined {
  const member = path.length === 0 ? doc.root : valueAt(doc.root, ...path);
  if (isMapping(member)) {
    const yamlNode = nodeAt(doc.contents, path);
    return {
      values: member,
      places: isNode(yamlNode)
        ? placesIn(yamlNode, (offset) => ({ ...doc.place, line: doc.lineAt(offset) }))
        : {},
    };
  }
  if (typeof member !== "string") return undefined;
  const { documents, lineCounter } = plainDocuments(member);
  const [innerDocument, ...otherDocuments] = documents;
  const values =
    innerDocument && otherDocuments.length === 0 ? valueOfDocument(innerDocument) : undefined;
  if (!isMapping(values) || !innerDocument?.contents) return undefined;
  // The text of a block begins in the line after its indicator (`values: |`).
  const firstLine = placeOf(doc, path).line;
  return {
    values,
    places: placesIn(innerDocument.contents, (offset) => ({
      ...doc.place,
      line: firstLine + lineCounter.linePos(offset).line,
    })),
  };
}

/** The place where a value begins; the place of the document if the value is missing. */
export function placeOf(doc: Doc, path: string[]): Place {
  const node = nodeAt(doc.contents, path);
  return isNode(node) && node.range ? { ...doc.place, line: doc.lineAt(node.range[0]) } : doc.place;
}

function placesIn(
  node: Parameters<typeof visit>[0],
  placeAt: (offset: number) => Place,
): Record<string, Place> {
  const places: Record<string, Place> = {};
  visit(node, {
    Pair: (_, { key }, ancestors) => {
      if (!isNode(key) || !key.range) return;
      const keys = [...ancestors, { key }].flatMap((ancestor) =>
        "key" in ancestor && isNode(ancestor.key) ? [String(ancestor.key)] : [],
      );
      places[keys.join(".")] ??= placeAt(key.range[0]);
    },
  });
  return places;
}
