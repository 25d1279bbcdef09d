import { movedFields } from "../facts/data/since.json";
import { talosDocuments, valueOfDocument } from "../rules/yaml";
import type { Step } from "./added";
import { mainDocument, nameOf } from "./documents";
import { isReplaced, isWhole, keyOfList } from "./keyed-lists";
import { anyText, canonical, isMapping, listOf, valueAt } from "../mapping";
import { remembering } from "../memory";

/** The values that all patches set together, by the name of the document. */
export type Wanted = Map<string, Record<string, unknown>>;

/**
 * Merges patches with each other: a later patch overrides an earlier one, and items of lists are merged by their key.
 *
 * @param release Talos release whose rules apply. Default: the newest.
 */
export function wantedOf(patches: string[], release?: string): Wanted {
  const documents: Wanted = new Map();
  for (const patch of patches) {
    for (const [name, value] of documentsOf(patch))
      documents.set(name, mergeMaps(name, documents.get(name) ?? {}, value, [], release));
  }
  return documents;
}

/** The documents of a patch that are not empty, by name. */
export const documentsOf = remembering(
  (patch: string) =>
    talosDocuments(patch).flatMap((document): [string, Record<string, unknown>][] => {
      const value = valueOfDocument(document);
      return isMapping(value) ? [[nameOf(document), value]] : [];
    }),
  (patch) => patch,
);

/** Moves wanted values of `machine` into separate documents, for those documents that the configuration has. */
export function intoOwnDocuments(
  documents: Wanted,
  hasDocument: (document: string) => boolean,
): void {
  for (const { field, document, to: target } of movedFields.fields.filter((row) =>
    hasDocument(row.document),
  )) {
    const main = documents.get(mainDocument);
    const value = field.reduce<unknown>(
      (current, step) => (isMapping(current) ? current[step] : undefined),
      main?.["machine"],
    );
    if (!isMapping(main) || value === undefined) continue;
    documents.set(mainDocument, withoutPath(main, ["machine", ...field]));
    const moved = target.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
    documents.set(
      document,
      mergeMaps(document, documents.get(document) ?? {}, moved as Record<string, unknown>, []),
    );
  }
  modulesIntoDocuments(documents, hasDocument);
}

/**
 * Moves the wanted values of a kernel module into the module's `KernelModuleConfig` document, if the configuration has
 * it. Talos then silently ignores the module's item in `machine.kernel.modules` (siderolabs/docs v1.14, upgrading
 * Talos).
 */
function modulesIntoDocuments(documents: Wanted, hasDocument: (document: string) => boolean): void {
  const main = documents.get(mainDocument) ?? {};
  const modules = listOf(valueAt(main, "machine", "kernel", "modules"));
  const documentOf = (module: unknown): string =>
    `KernelModuleConfig/${String(valueAt(module, "name"))}`;
  const modulesWithDocuments = modules.filter((module) => hasDocument(documentOf(module)));
  if (modulesWithDocuments.length === 0) return;
  const moved = new Set(modulesWithDocuments);
  const otherModules = modules.filter((module) => !moved.has(module));
  const mainWithoutModules = withoutPath(main, ["machine", "kernel", "modules"]);
  const list = otherModules.length > 0 ? { machine: { kernel: { modules: otherModules } } } : {};
  documents.set(mainDocument, mergeMaps(mainDocument, mainWithoutModules, list, []));
  for (const module of modulesWithDocuments as Record<string, unknown>[]) {
    const document = documentOf(module);
    const { name: _name, ...moduleFields } = module;
    documents.set(document, mergeMaps(document, documents.get(document) ?? {}, moduleFields, []));
  }
}

/** The map without the value at a path, and without the maps above that value that become empty. */
function withoutPath(
  map: Record<string, unknown>,
  [step = "", ...remainingPath]: string[],
): Record<string, unknown> {
  const { [step]: inner, ...otherFields } = map;
  const remainingInner =
    remainingPath.length > 0 && isMapping(inner) ? withoutPath(inner, remainingPath) : {};
  return Object.keys(remainingInner).length > 0
    ? { ...otherFields, [step]: remainingInner }
    : otherFields;
}

function mergeMaps(
  document: string,
  base: Record<string, unknown>,
  overlay: Record<string, unknown>,
  path: Step[],
  release?: string,
): Record<string, unknown> {
  const merged = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    // Talos also treats an empty field as missing.
    if (value !== null && value !== undefined)
      merged[key] = mergeValue(document, merged[key], value, [...path, key], release);
  }
  return merged;
}

function mergeValue(
  document: string,
  old: unknown,
  value: unknown,
  path: Step[],
  release?: string,
): unknown {
  if (isReplaced(document, path, release)) return value;
  if (Array.isArray(value))
    return mergeLists(document, Array.isArray(old) ? old : [], value, path, release);
  if (isMapping(value)) return mergeMaps(document, isMapping(old) ? old : {}, value, path, release);
  return value;
}

function mergeLists(
  document: string,
  baseItems: unknown[],
  items: unknown[],
  path: Step[],
  release?: string,
): unknown[] {
  const key = keyOfList(document, path);
  const merged = [...baseItems];
  // Equal items have equal keys, so the merge need not compare all items of a long list with each other.
  const identityOf = (item: unknown): string =>
    key !== undefined && isMapping(item)
      ? `by key ${anyText(item[key])}`
      : JSON.stringify(canonical(item));
  const indexByIdentity = new Map<string, number>();
  const rememberIndex = (item: unknown, index: number): void => {
    const identity = identityOf(item);
    if (!indexByIdentity.has(identity)) indexByIdentity.set(identity, index);
  };
  baseItems.forEach(rememberIndex);
  for (const item of items) {
    const index = indexByIdentity.get(identityOf(item)) ?? -1;
    const existing = merged[index];
    if (index < 0) rememberIndex(item, merged.push(item) - 1);
    else if (isMapping(existing) && isMapping(item)) {
      const step = { key: key ?? "", id: anyText(item[key ?? ""]) };
      merged[index] = isWhole(document, path)
        ? item
        : mergeMaps(document, existing, item, [...path, step], release);
    }
  }
  return merged;
}
