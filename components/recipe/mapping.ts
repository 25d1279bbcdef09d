/** Whether a value is a mapping: an object that is no list. */
export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at a path of keys, through lists too; undefined where there is none. */
export const valueAt = (from: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      Array.isArray(inner)
        ? (inner as unknown[])[Number(key)]
        : isMapping(inner)
          ? inner[key]
          : undefined,
    from,
  );

/** The mapping at a path of keys; empty where there is none. */
export function mappingAt(from: unknown, ...path: string[]): Record<string, unknown> {
  const found = valueAt(from, ...path);
  return isMapping(found) ? found : {};
}

/** The items of a list; none of what is no list. */
export const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? (value as unknown[]) : [];

/** The mappings of a list at a path of keys; none where there is no list. */
export const listAt = (from: unknown, ...path: string[]): Record<string, unknown>[] =>
  listOf(valueAt(from, ...path)).filter(isMapping);

/** The first value that occurs twice. */
export const repeated = <T>(all: readonly T[]): T | undefined => all[placeOfRepeated(all)];

/** Where the first of some stands for the second time; -1 where none does. */
export function placeOfRepeated(all: readonly unknown[]): number {
  const seen = new Set<unknown>();
  return all.findIndex((one) => one !== undefined && seen.size === seen.add(one).size);
}

/** A single value as text; nothing of anything else. */
export const asText = (value: unknown): string =>
  ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";

/**
 * Any value as text, also one of a mapping that has a key like `toString`, for which `String()` throws.
 *
 * @returns a single value as it is written, all else as JSON.
 */
export const anyText = (value: unknown): string =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);

/** Copies data and sorts the keys of every mapping. */
export function canonical<T>(data: T): T {
  if (Array.isArray(data)) return data.map(canonical) as T;
  if (typeof data !== "object" || data === null) return data;
  const keys = Object.keys(data).sort() as (keyof T & string)[];
  return Object.fromEntries(keys.map((key) => [key, canonical(data[key])])) as T;
}

/**
 * Merges values as Helm does: mappings by key, all else is replaced (helm.sh/docs, values files).
 *
 * @param lists merges two lists under a key. Default: the later one replaces the other.
 */
export function mergeAsHelm(
  under: Record<string, unknown>,
  over: Record<string, unknown>,
  lists: (key: string, under: unknown[], over: unknown[]) => unknown[] = (_key, _under, later) =>
    later,
): Record<string, unknown> {
  const merged = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const old = merged[key];
    if (isMapping(old) && isMapping(value)) merged[key] = mergeAsHelm(old, value, lists);
    else merged[key] = Array.isArray(old) && Array.isArray(value) ? lists(key, old, value) : value;
  }
  return merged;
}

/** Fields without those that are undefined, or a list or mapping with nothing in it. */
export const filled = <T extends object>(
  fields: T,
): { [key in keyof T]?: Exclude<T[key], undefined> } =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]: [string, unknown]) =>
      typeof value === "object" && value !== null
        ? Object.keys(value).length > 0
        : value !== undefined,
    ),
  ) as never;

/** Fields without those that are undefined. */
export const defined = <T extends object>(
  fields: T,
): { [key in keyof T]?: Exclude<T[key], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/** Things in whatever nesting: `false` and `undefined` are none. */
export type Nested<T> = T | false | undefined | readonly Nested<T>[];

/** The things, one after the other. */
export function flat<T extends object | string>(nested: Nested<T>): T[] {
  if (Array.isArray(nested)) return (nested as readonly Nested<T>[]).flatMap((one) => flat(one));
  return nested === undefined || nested === false ? [] : [nested as T];
}
