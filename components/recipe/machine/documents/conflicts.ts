import { documentConflicts } from "../../facts/data/since.json";
import { isMapping, valueAt } from "../../mapping";
import { mainDocument } from "../../merge/documents";

/** A document of a configuration, and the fields with which Talos refuses it. */
export interface DocumentConflict {
  /** Its kind, with its name where only that one is refused, e.g. `VolumeConfig/STATE`. */
  document: string;
  /** As far down as they say something, e.g. `machine.kubelet.extraMounts`. */
  fields: string[];
}

interface Row {
  document: string;
  with?: string;
  fields: string[];
}

const rows: Row[] = documentConflicts.rows;
const forms = new Map<string, string | null>(Object.entries(documentConflicts.forms));

/**
 * Conflicts for which Talos refuses a configuration: a document and a field of `machine` or `cluster` set the same
 * thing.
 *
 * @param documents by name: `config` for the document with machine and cluster, else `kind` or `kind/name`.
 */
export function documentConflictsIn(documents: ReadonlyMap<string, unknown>): DocumentConflict[] {
  const main = documents.get(mainDocument);
  return rows.flatMap(({ document, with: having, fields }) => {
    const value = documents.get(document);
    const isThere =
      value !== undefined || [...documents.keys()].some((name) => name.startsWith(`${document}/`));
    if (!isThere || (having !== undefined && !isSet(having, valueAt(value, having)))) return [];
    const set = fields.filter((field) => isSet(field, valueAt(main, ...field.split("."))));
    return set.length === 0
      ? []
      : [{ document, fields: set.flatMap((field) => fieldsBelow(main, field)) }];
  });
}

/** How the documents say what a field does, in words. */
export function formOf(document: string, field: string): string {
  const form = forms.get(field);
  if (form === null) return `no document says ${field}`;
  const last = field.split(".").at(-1)!;
  const isWhole = rows.some((row) => row.document === document && row.fields.includes(field));
  return `${field}: ${form ?? (isWhole ? `the fields of ${document}` : `${last} of ${document}`)}`;
}

/** The keys of a mapping that a conflict names as a whole, such as `machine.kubelet`. */
function fieldsBelow(main: unknown, field: string): string[] {
  const value = valueAt(main, ...field.split("."));
  if (forms.has(field) || !isMapping(value) || Object.keys(value).length === 0) return [field];
  return Object.keys(value).map((key) => `${field}.${key}`);
}

/** Talos takes most fields that hold nothing for ones that are not there. */
function isSet(field: string, value: unknown): boolean {
  if (value === false) return documentConflicts.falseCounts.includes(field);
  return (
    value !== undefined &&
    value !== null &&
    value !== "" &&
    !(Array.isArray(value) && value.length === 0)
  );
}
