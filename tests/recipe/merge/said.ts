import { parseAllDocuments } from "yaml";

/** What a configuration says, document by document. */
export function said(text: string): unknown[] {
  const documents = parseAllDocuments(text);
  return (Array.isArray(documents) ? documents : [])
    .map((document) => document.toJS() as unknown)
    .filter((value) => value !== null && value !== undefined);
}
