import { isMap, parseAllDocuments, type Document } from "yaml";
import { talosDocument } from "../rules/yaml";

/** One document of a configuration: its text until something in it changes. */
export interface Part {
  /** `config` for the machine and cluster document, else `kind/name`. */
  name: string;
  document: Document;
  text: string;
  changed: boolean;
}

/** A configuration taken apart; documents that nobody changes keep every byte. */
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
    .map((piece) => readPart(piece))
    .filter((part) => part.text.trim() !== "");
  const error = parts.flatMap((part) => part.document.errors)[0];
  return { parts, ...(error ? { error: error.message.split("\n")[0] ?? "not YAML" } : {}) };
}

function readPart(text: string): Part {
  const document = talosDocument(text);
  return { name: nameOf(document), document, text, changed: false };
}

/** Name under which a document is found again. */
export function nameOf(document: Document): string {
  if (!isMap(document.contents)) return "";
  const [kind, name] = [document.get("kind"), document.get("name")];
  if (typeof kind !== "string") return mainDocument;
  return typeof name === "string" ? `${kind}/${name}` : kind;
}

/** A document that a merge adds. */
export function newPart(name: string, value: unknown): Part {
  const [document] = parseAllDocuments("{}");
  if (!document || Array.isArray(document)) throw new Error("yaml: no document");
  const fresh = document as Document;
  fresh.contents = fresh.createNode(value);
  return { name, document: fresh, text: "", changed: true };
}

/** Puts a configuration together again. */
export function writeConfiguration(configuration: Configuration): string {
  const layout = layoutOf(configuration.parts.map((part) => part.text).join(""));
  const texts = configuration.parts.map((part) =>
    part.changed ? part.document.toString({ ...layout, lineWidth: 0, flowCollectionPadding: false }) : part.text,
  );
  return texts
    .map((text, index) => (index === 0 || /^---(\s|$)/.test(text) ? text : `---\n${text}`))
    .map(endLine)
    .join("");
}

function endLine(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}

/** Indentation as the configuration has it; Talos writes four. */
function layoutOf(text: string): { indent: number; indentSeq: boolean } {
  const indent = /^[^\s#][^\n]*:[ ]*\n( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 4;
  const flushSequence = /^( *)[^\s#-][^\n]*:[ ]*\n\1- /m.test(text);
  return { indent, indentSeq: !flushSequence };
}
