import type { TypeText } from "./facts/talos-schema";
import { isMapping } from "./mapping";
import { nearestWord } from "./rules/suggest";

/** Keys of a structure with their types. If `open`, an unknown key is a finding only if it resembles a known key. */
export interface Structure {
  keys: ReadonlyMap<string, TypeText>;
  open: boolean;
}

/** How one kind of data is checked, e.g. Talos configurations. */
export interface Dialect<Flaw = never> {
  /** Returns the structure that a type `@NAME` refers to. */
  structureOf: (name: string) => Structure;
  /** Whether a single value has a type. Default: the types of JSON. */
  accepts?: (value: unknown, type: TypeText) => boolean;
  /**
   * Returns a further mistake in a value of the right type, for a field such as `v1alpha1.Device.addresses[]`. Default:
   * none.
   */
  ruleOf?: (field: string, value: unknown, type: TypeText) => Flaw | undefined;
}

type Path = readonly (string | number)[];

/** A path in the notation of messages, e.g. `machine.network.interfaces[0].mtu`. */
export const writePath = (
  path: readonly PropertyKey[],
  write: (key: string) => string = (key) => key,
): string =>
  path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${write(String(part))}`))
    .join("")
    .replace(/^\./, "");

/** A mistake in data, and its place: a value has the wrong type or breaks a rule, or a key is unknown or missing. */
export interface ShapeFinding<Flaw = never> {
  path: Path;
  flaw:
    | { value: unknown; type: TypeText }
    | { unknown: string; in: string; near: string | undefined }
    | "missing"
    | Flaw;
}

/**
 * Findings about plain data that does not fit a type. facts/talos-schema.ts describes the notation of types. A null or
 * undefined value counts as not set.
 *
 * @param field the value's field, by which `ruleOf` selects a rule.
 */
export function shapeFindings<Flaw = never>(
  value: unknown,
  type: TypeText,
  dialect: Dialect<Flaw>,
  path: Path = [],
  field = "",
): ShapeFinding<Flaw>[] {
  if (value === null || value === undefined) return [];
  if (!isOfType(value, type, dialect.accepts ?? asJson)) return [{ path, flaw: { value, type } }];
  const flaw = dialect.ruleOf?.(field, value, type);
  if (flaw !== undefined) return [{ path, flaw }];
  const findingsBelow = (
    key: string | number,
    child: unknown,
    childType: TypeText,
    childField: string,
  ): ShapeFinding<Flaw>[] =>
    shapeFindings(child, childType.replace(/^!/, ""), dialect, [...path, key], childField);
  if (type.startsWith("["))
    return (value as unknown[]).flatMap((item, index) =>
      findingsBelow(index, item, type.slice(1), `${field}[]`),
    );
  if (type.startsWith("{"))
    return Object.entries(value).flatMap(([key, child]) =>
      key === "<<" && isMapping(child) // The values of YAML's merge key come in addition to the other keys.
        ? shapeFindings(child, type, dialect, path, field)
        : findingsBelow(key, child, type.slice(1), `${field}{}`),
    );
  if (!type.startsWith("@")) return [];
  const name = type.slice(1);
  const { keys, open } = dialect.structureOf(name);
  const mapping = value as Record<string, unknown>;
  return [
    ...[...keys].flatMap(([key, keyType]): ShapeFinding<Flaw>[] =>
      keyType.startsWith("!") && (mapping[key] ?? null) === null
        ? [{ path: [...path, key], flaw: "missing" }]
        : [],
    ),
    ...Object.entries(mapping).flatMap(([key, child]): ShapeFinding<Flaw>[] => {
      const keyType = keys.get(key);
      if (keyType !== undefined) return findingsBelow(key, child, keyType, `${name}.${key}`);
      const nearKey = nearestWord(key, keys.keys());
      return open && nearKey === undefined
        ? []
        : [{ path: [...path, key], flaw: { unknown: key, in: name, near: nearKey } }];
    }),
  ];
}

function isOfType(
  value: unknown,
  type: TypeText,
  accepts: (value: unknown, type: TypeText) => boolean,
): boolean {
  if (type === "any") return true;
  if (type.startsWith("("))
    return alternatives(type).some((alternative) => isOfType(value, alternative, accepts));
  if (type.startsWith("[")) return Array.isArray(value);
  if (/^[@{]|^object$/.test(type)) return isMapping(value) && !(value instanceof Date);
  return accepts(value, type);
}

/** Whether a single value has one of the types that JSON has, or is a word of an enumeration. */
export function asJson(value: unknown, type: TypeText): boolean {
  if (type.startsWith("=")) return wordsOf(type).includes(value as string);
  if (type === "integer")
    return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
  return typeof value === type;
}

const alternatives = (type: TypeText): TypeText[] => type.slice(1, -1).split(" ");

/** The words of an enumeration. */
export const wordsOf = (type: TypeText): string[] => type.slice(1).split("|");

const inWords: Readonly<Record<TypeText, string>> = {
  boolean: "true or false",
  integer: "a whole number",
  unsigned: "a whole number from 0 on",
  number: "a number",
  duration: "a duration such as 30s or 5m",
  base64: "base64 of PEM",
  object: "a mapping",
  "/^[0-9a-f.:]+/\\d{1,3}$": "a network such as 10.0.0.0/8",
  "/^[0-9a-f.:]+$": "an IP address",
  "/^[0-9a-f:]+$": "a hardware address such as 00:11:22:33:44:55",
};

/** A type in words. */
export function describe(type: TypeText): string {
  const words = inWords[type];
  if (words !== undefined) return words;
  if (type.startsWith("(")) return alternatives(type).map(describe).join(" or ");
  if (type.startsWith("["))
    return type === "[any" ? "a list" : `a list in which each item is ${describe(type.slice(1))}`;
  if (type.startsWith("{")) return `a mapping in which each value is ${describe(type.slice(1))}`;
  if (type.startsWith("@")) return "a mapping";
  if (type.startsWith("=")) {
    const words = wordsOf(type).filter(Boolean);
    return `${words.length > 1 ? "one of " : ""}${words.join(", ")}`;
  }
  return type.startsWith("/") ? `a string that matches ${type.slice(1)}` : "text";
}

/** Remedy for a value of a wrong type. */
export function remedyFor(value: unknown, type: TypeText): string {
  const bare =
    typeof value === "string" && /^(boolean|integer|unsigned|number)$/.test(type)
      ? ", without quotes"
      : "";
  const quoted = typeof value !== "object" && type === "string" ? ", in quotes" : "";
  return `write ${describe(type)}${bare}${quoted}`;
}
