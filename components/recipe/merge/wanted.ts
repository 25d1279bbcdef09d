import { movedFields } from "../facts/data/since.json";
import { talosDocuments, valueOfDocument } from "../rules/yaml";
import type { Step } from "./added";
import { mainDocument, nameOf } from "./documents";
import { isReplaced, isWhole, keyOfList } from "./keyed-lists";
import { anyText, canonical, isMapping, listOf, valueAt } from "../mapping";
import { remembering } from "../memory";

/** Wanted values of all patches, by the name of the document. */
export type Wanted = Map<string, Record<string, unknown>>;

/**
 * Merges patches with each other: later patches over earlier ones, and lists by key.
 *
 * @param release Talos release whose rules apply. Default: the newest.
 */
export function wantedOf(patches: string[], release?: string): Wanted {
  const wanted: Wanted = new Map();
  for (const patch of patches) {
    for (const [name, value] of documentsOf(patch))
      wanted.set(name, mergeMaps(name, wanted.get(name) ?? {}, value, [], release));
  }
  return wanted;
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

/** Moves wanted values of `machine` into documents, if the configuration has documents for them. */
export function intoOwnDocuments(wanted: Wanted, has: (document: string) => boolean): void {
  for (const { field, document, to } of movedFields.fields.filter((row) => has(row.document))) {
    const main = wanted.get(mainDocument);
    const value = field.reduce<unknown>(
      (at, step) => (isMapping(at) ? at[step] : undefined),
      main?.["machine"],
    );
    if (!isMapping(main) || value === undefined) continue;
    wanted.set(mainDocument, without(main, ["machine", ...field]));
    const moving = to.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
    wanted.set(
      document,
      mergeMaps(document, wanted.get(document) ?? {}, moving as Record<string, unknown>, []),
    );
  }
  modulesIntoDocuments(wanted, has);
}

/**
 * Moves the wanted values of a kernel module into its document, because with the document Talos silently ignores the
 * item in the list (siderolabs/docs v1.14, upgrading Talos).
 */
function modulesIntoDocuments(wanted: Wanted, has: (document: string) => boolean): void {
  const main = wanted.get(mainDocument) ?? {};
  const modules = listOf(valueAt(main, "machine", "kernel", "modules"));
  const documentOf = (module: unknown): string =>
    `KernelModuleConfig/${String(valueAt(module, "name"))}`;
  const own = modules.filter((module) => has(documentOf(module)));
  if (own.length === 0) return;
  const inDocuments = new Set(own);
  const rest = modules.filter((module) => !inDocuments.has(module));
  const others = without(main, ["machine", "kernel", "modules"]);
  const list = rest.length > 0 ? { machine: { kernel: { modules: rest } } } : {};
  wanted.set(mainDocument, mergeMaps(mainDocument, others, list, []));
  for (const module of own as Record<string, unknown>[]) {
    const document = documentOf(module);
    const { name: _name, ...said } = module;
    wanted.set(document, mergeMaps(document, wanted.get(document) ?? {}, said, []));
  }
}

/** A map without the value at a path, and without maps on the way that are then empty. */
function without(
  map: Record<string, unknown>,
  [step = "", ...rest]: string[],
): Record<string, unknown> {
  const { [step]: inner, ...others } = map;
  const left = rest.length > 0 && isMapping(inner) ? without(inner, rest) : {};
  return Object.keys(left).length > 0 ? { ...others, [step]: left } : others;
}

function mergeMaps(
  document: string,
  into: Record<string, unknown>,
  from: Record<string, unknown>,
  path: Step[],
  release?: string,
): Record<string, unknown> {
  const merged = { ...into };
  for (const [key, value] of Object.entries(from)) {
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
  old: unknown[],
  items: unknown[],
  path: Step[],
  release?: string,
): unknown[] {
  const key = keyOfList(document, path);
  const merged = [...old];
  // Equal items have equal keys, so the merge need not compare all items of a long list with each other.
  const identityOf = (item: unknown): string =>
    key !== undefined && isMapping(item)
      ? `by key ${anyText(item[key])}`
      : JSON.stringify(canonical(item));
  const places = new Map<string, number>();
  const place = (item: unknown, index: number): void => {
    const identity = identityOf(item);
    if (!places.has(identity)) places.set(identity, index);
  };
  old.forEach(place);
  for (const item of items) {
    const index = places.get(identityOf(item)) ?? -1;
    const found = merged[index];
    if (index < 0) place(item, merged.push(item) - 1);
    else if (isMapping(found) && isMapping(item)) {
      const step = { key: key ?? "", id: anyText(item[key ?? ""]) };
      merged[index] = isWhole(document, path)
        ? item
        : mergeMaps(document, found, item, [...path, step], release);
    }
  }
  return merged;
}
