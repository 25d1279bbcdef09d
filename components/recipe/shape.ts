import type { TypeText } from "./facts/talos-schema";
import { isMapping } from "./mapping";
import { closest } from "./rules/suggest";

/** Keys of a structure with their types. Of an open one, a key that nothing is known of is told only where a known one was probably meant. */
export interface Structure {
  keys: ReadonlyMap<string, TypeText>;
  open: boolean;
}

/** Where plain data is not of its type: what is there is of another one; a key is of no structure; or one is missing. */
export interface ShapeFlaw {
  path: readonly (string | number)[];
  flaw: { value: unknown; type: TypeText } | { unknown: string; near: string | undefined } | "missing";
}

/**
 * Where plain data is not of a type, as facts/talos-schema.ts writes types. What is null or undefined reads as not set.
 *
 * @param structureOf what `@NAME` stands for.
 */
export function shapeFlaws(
  value: unknown,
  type: TypeText,
  structureOf: (name: string) => Structure,
  path: readonly (string | number)[] = [],
): ShapeFlaw[] {
  if (value === null || value === undefined) return [];
  if (!fits(value, type)) return [{ path, flaw: { value, type } }];
  const below = (key: string | number, child: unknown, childType: TypeText): ShapeFlaw[] =>
    shapeFlaws(child, childType.replace(/^!/, ""), structureOf, [...path, key]);
  if (type.startsWith("[")) return (value as unknown[]).flatMap((item, index) => below(index, item, type.slice(1)));
  if (type.startsWith("{")) return Object.entries(value).flatMap(([key, child]) => below(key, child, type.slice(1)));
  if (!type.startsWith("@")) return [];
  const { keys, open } = structureOf(type.slice(1));
  const given = value as Record<string, unknown>;
  const missing = [...keys].filter(([key, wanted]) => wanted.startsWith("!") && (given[key] ?? null) === null);
  return [
    ...missing.map(([key]): ShapeFlaw => ({ path: [...path, key], flaw: "missing" })),
    ...Object.entries(given).flatMap(([key, child]): ShapeFlaw[] => {
      const wanted = keys.get(key);
      if (wanted !== undefined) return below(key, child, wanted);
      const near = closest(key, keys.keys());
      return open && near === undefined ? [] : [{ path: [...path, key], flaw: { unknown: key, near } }];
    }),
  ];
}

function fits(value: unknown, type: TypeText): boolean {
  if (type === "any") return true;
  if (type.startsWith("[")) return Array.isArray(value);
  if (type.startsWith("="))
    return type
      .slice(1)
      .split("|")
      .includes(value as string);
  if (type.startsWith("@") || type.startsWith("{") || type === "object")
    return isMapping(value) && !(value instanceof Date);
  if (type === "integer") return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return typeof value === type;
}
