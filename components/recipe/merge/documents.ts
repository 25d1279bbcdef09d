import { isDeepStrictEqual } from "node:util";
import { Document, isMap } from "yaml";
import { talosDocument } from "../rules/yaml";
import { withChanges } from "./text";

/** One document of a configuration. An unchanged document keeps its text. */
export interface Part {
  /** Name of the document: `config` for the document with machine and cluster, else `kind/name`. */
  name: string;
  document: Document;
  text: string;
  changed: boolean;
}

/** The documents of a configuration. Unchanged documents keep every byte. */
export interface Configuration {
  parts: Part[];
  /** Reason why the configuration cannot be read. */
  error?: string;
}

/** Name of the document with `machine` and `cluster`. */
export const mainDocument = "config";

/** Splits a configuration into its YAML documents. */
export function readConfiguration(text: string): Configuration {
  const parts = text
    .split(/^(?=---(?:\s|$))/m)
    .filter((piece) => piece.trim() !== "")
    .map((piece): Part => {
      const document = talosDocument(piece);
      return { name: nameOf(document), document, text: piece, changed: false };
    });
  const error = parts.flatMap((part) => part.document.errors)[0];
  return { parts, ...(error ? { error: error.message.split("\n")[0] ?? "not YAML" } : {}) };
}

/** Name that identifies a document: `config`, `kind/name` or `kind`; empty if the document is no mapping. */
export function nameOf(document: Document): string {
  if (!isMap(document.contents)) return "";
  const [kind, name] = [document.get("kind"), document.get("name")];
  if (typeof kind !== "string") return mainDocument;
  return typeof name === "string" ? `${kind}/${name}` : kind;
}

/** Makes a new document for a merge. */
export const newPart = (name: string, value: unknown): Part => ({
  name,
  document: new Document(value),
  text: "",
  changed: true,
});

/** Joins the documents of a configuration into one text. */
export function writeConfiguration(configuration: Configuration): string {
  const layout = layoutOf(configuration.parts.map((part) => part.text).join(""));
  const texts = configuration.parts.map((part) =>
    part.changed ? textOf(part, layout) : part.text,
  );
  return texts
    .map((text, index) => (index === 0 || /^---(\s|$)/.test(text) ? text : `---\n${text}`))
    .map((text) => (text.endsWith("\n") ? text : `${text}\n`))
    .join("");
}

/**
 * Text of a changed document. Unchanged lines stay as their owner wrote them, except if the text would then have
 * another meaning than the document.
 */
function textOf({ document, text }: Part, layout: object): string {
  const write = (content: Document): string =>
    content.toString({ ...layout, lineWidth: 0, flowCollectionPadding: false });
  const changedText = write(document);
  const textWithChanges = withChanges(text, write(talosDocument(text)), changedText);
  return isDeepStrictEqual(talosDocument(textWithChanges).toJS(), document.toJS())
    ? textWithChanges
    : changedText;
}

/** Indentation of a configuration's text; without an example in the text, the four spaces that Talos writes. */
function layoutOf(text: string): { indent: number; indentSeq: boolean } {
  const indent = /^[^\s#][^\n]*:[ ]*\n( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 4;
  const flushSequence = /^( *)[^\s#-][^\n]*:[ ]*\n\1- /m.test(text);
  return { indent, indentSeq: !flushSequence };
}
