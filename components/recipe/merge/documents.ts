import { isDeepStrictEqual } from "node:util";
import { Document, isMap } from "yaml";
import { talosDocument } from "../rules/yaml";
import { withChanges } from "./text";

/** One document of a configuration: its text until something in it changes. */
export interface Part {
  /** `config` for the machine and cluster document, else `kind/name`. */
  name: string;
  document: Document;
  text: string;
  changed: boolean;
}

/** A configuration taken apart; unchanged documents keep every byte. */
export interface Configuration {
  parts: Part[];
  /** Why it cannot be read. */
  error?: string;
}

/** Name of the document with `machine` and `cluster`. */
export const mainDocument = "config";

/** Takes a configuration apart at its document markers. */
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

/** Name under which a document is found again. */
export function nameOf(document: Document): string {
  if (!isMap(document.contents)) return "";
  const [kind, name] = [document.get("kind"), document.get("name")];
  if (typeof kind !== "string") return mainDocument;
  return typeof name === "string" ? `${kind}/${name}` : kind;
}

/** A document that a merge adds. */
export const newPart = (name: string, value: unknown): Part => ({
  name,
  document: new Document(value),
  text: "",
  changed: true,
});

/** Puts a configuration together again. */
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

/** Text of a changed document: what nothing was changed in stays as its owner wrote it, where that says the same. */
function textOf({ document, text }: Part, layout: object): string {
  const written = (of: Document): string =>
    of.toString({ ...layout, lineWidth: 0, flowCollectionPadding: false });
  const after = written(document);
  const kept = withChanges(text, written(talosDocument(text)), after);
  return isDeepStrictEqual(talosDocument(kept).toJS(), document.toJS()) ? kept : after;
}

/** Indentation as the configuration has it; Talos writes four. */
function layoutOf(text: string): { indent: number; indentSeq: boolean } {
  const indent = /^[^\s#][^\n]*:[ ]*\n( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 4;
  const flushSequence = /^( *)[^\s#-][^\n]*:[ ]*\n\1- /m.test(text);
  return { indent, indentSeq: !flushSequence };
}
