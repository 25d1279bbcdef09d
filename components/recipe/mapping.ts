/** Whether a value is a mapping: an object that is not a list. */
export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value at a path of keys, in which a number is the index of a list; undefined if the value is missing. */
export const valueAt = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      Array.isArray(inner)
        ? (inner as unknown[])[Number(key)]
        : isMapping(inner)
          ? inner[key]
          : undefined,
    value,
  );

/** The mapping at a path of keys; empty if it is missing. */
export function mappingAt(value: unknown, ...path: string[]): Record<string, unknown> {
  const member = valueAt(value, ...path);
  return isMapping(member) ? member : {};
}

/** The items of a list; empty for any other value. */
export const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? (value as unknown[]) : [];

/** The mappings in the list at a path of keys; empty if the list is missing. */
export const listAt = (value: unknown, ...path: string[]): Record<string, unknown>[] =>
  listOf(valueAt(value, ...path)).filter(isMapping);

/** The first value that occurs more than once. */
export const repeated = <T>(all: readonly T[]): T | undefined => all[placeOfRepeated(all)];

/** Index of the first repetition of a value; -1 if no value is repeated. */
export function placeOfRepeated(items: readonly unknown[]): number {
  const earlierItems = new Set<unknown>();
  return items.findIndex(
    (item) => item !== undefined && earlierItems.size === earlierItems.add(item).size,
  );
}

/** A text, number or boolean as text; an empty text for any other value. */
export const asText = (value: unknown): string =>
  ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";

/**
 * Any value as text. Unlike `String()`, it does not throw for a mapping with a key such as `toString`.
 *
 * @returns a list or mapping as JSON, and any other value as text.
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
 * Merges chart values like Helm: mappings are merged by key, and any other later value replaces the earlier one
 * (helm.sh/docs, values files).
 *
 * @param mergeLists merges two lists under a key. Default: the later list replaces the earlier one.
 */
export function mergeAsHelm(
  base: Record<string, unknown>,
  overlay: Record<string, unknown>,
  mergeLists: (key: string, baseList: unknown[], overlayList: unknown[]) => unknown[] = (
    _key,
    _under,
    later,
  ) => later,
): Record<string, unknown> {
  const merged = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const baseValue = merged[key];
    if (isMapping(baseValue) && isMapping(value))
      merged[key] = mergeAsHelm(baseValue, value, mergeLists);
    else
      merged[key] =
        Array.isArray(baseValue) && Array.isArray(value)
          ? mergeLists(key, baseValue, value)
          : value;
  }
  return merged;
}

/** The mapping without its fields that are undefined, an empty list or an empty mapping. */
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

/** The mapping without its undefined fields. */
export const defined = <T extends object>(
  fields: T,
): { [key in keyof T]?: Exclude<T[key], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/** Values in any nesting of lists. `false` and `undefined` stand for no value. */
export type Nested<T> = T | false | undefined | readonly Nested<T>[];

/** All values in nested lists, as one list. */
export function flat<T extends object | string>(nested: Nested<T>): T[] {
  if (Array.isArray(nested)) return (nested as readonly Nested<T>[]).flatMap((item) => flat(item));
  return nested === undefined || nested === false ? [] : [nested as T];
}
