import { documentConflicts } from "../../facts/data/since.json";
import { isMapping, valueAt } from "../../mapping";
import { mainDocument } from "../../merge/documents";

/** A document of a configuration, and the fields that set the same thing, so that Talos refuses the configuration. */
export interface DocumentConflict {
  /**
   * Kind of the document. The kind is followed by a name if only the document of this name conflicts, e.g.
   * `VolumeConfig/STATE`.
   */
  document: string;
  /** Paths of the fields, down to the key that is set, e.g. `machine.kubelet.extraMounts`. */
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
 * Conflicts that make Talos refuse a configuration: a separate document and a field of `machine` or `cluster`
 * set the same thing.
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

/** How to resolve a conflict. */
export function remedyForConflict({ document, fields }: DocumentConflict): string {
  const replaced = fields.filter(hasForm);
  const formTexts = replaced.map((field) => formOf(document, field));
  return replaced.length === 0
    ? `leave the ${document} out, because no document replaces ${fields.join(", ")}`
    : `write this setting only in documents (${formTexts.join(", ")}), or leave the ${document} out`;
}

/** Whether a document has a setting that replaces a field. */
export const hasForm = (field: string): boolean => forms.get(field) !== null;

/** The setting of a document that replaces a field, in words. The field must have such a setting (`hasForm`). */
export function formOf(document: string, field: string): string {
  const form = forms.get(field);
  const last = field.split(".").at(-1)!;
  const isWhole = rows.some((row) => row.document === document && row.fields.includes(field));
  return `${field} becomes ${form ?? (isWhole ? `the fields of ${document}` : `${last} of ${document}`)}`;
}

/**
 * Paths of the keys that are set below a field, such as `machine.kubelet`, if a document conflicts with the whole
 * field.
 */
function fieldsBelow(main: unknown, field: string): string[] {
  const value = valueAt(main, ...field.split("."));
  if (forms.has(field) || !isMapping(value) || Object.keys(value).length === 0) return [field];
  return Object.keys(value).map((key) => `${field}.${key}`);
}

/** Whether a field is set. Talos treats most empty fields as missing. */
function isSet(field: string, value: unknown): boolean {
  if (value === false) return documentConflicts.falseCounts.includes(field);
  return (
    value !== undefined &&
    value !== null &&
    value !== "" &&
    !(Array.isArray(value) && value.length === 0)
  );
}
