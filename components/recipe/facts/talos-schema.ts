import { remembering } from "../memory";
import data from "./data/talos-schema.json";

/**
 * Keys and values that Talos accepts in the documents of a machine configuration, by minor (`npm run facts:schemas`
 * makes the data).
 *
 * Types: `string`, `boolean`, `integer`, `unsigned`, `number`, `duration`, `base64`, `object` (a mapping of anything),
 * `any`; `=a|b` (one of these), `/REGEX`, `@NAME` (a structure), `[T` (a list), `{T` (a mapping of names to T) and `(T
 * T)` (either). A leading `!` marks a required key.
 */
export type TypeText = string;

/** A type that is the same in all minors, or a list of types, each with its range of minors. */
type Ranged = string | (string | number)[][];

const kinds: Record<string, Ranged> = data.kinds;
const structures: Record<string, Record<string, Ranged>> = data.defs;

/** Minors with a known schema, oldest first, e.g. 8 for Talos 1.8. */
const schemaMinors: number[] = data.releases.map((release) => Number(release.split(".")[1]));

/**
 * The minor whose schema the checks use for a minor of Talos: the same minor if its schema is known, else the nearest
 * minor.
 */
export function schemaMinor(minor: number): { minor: number; isKnown: boolean } {
  const [oldest = minor, newest = minor] = [schemaMinors[0], schemaMinors.at(-1)];
  const nearest = Math.min(Math.max(minor, oldest), newest);
  return { minor: nearest, isKnown: nearest === minor };
}

/**
 * Name that this package gives to the document with `machine` and `cluster`, because this document has no field `kind`.
 */
export const mainKind = "Config";

/** Kinds of documents of a minor. */
export const kindsOf = (minor: number): string[] =>
  Object.keys(kinds).filter(
    (kind) => kind !== mainKind && typeAt(kinds[kind], minor) !== undefined,
  );

/** Structure of a kind of document; undefined if the minor lacks the kind. */
export const structureOfKind = (kind: string, minor: number): string | undefined =>
  Object.hasOwn(kinds, kind) ? typeAt(kinds[kind], minor) : undefined;

/** Keys of a structure with their types. */
export const keysOf = remembering(
  (structure: string, minor: number): Map<string, TypeText> =>
    new Map(
      Object.entries(structures[structure] ?? {}).flatMap(([key, ranged]): [string, string][] => {
        const type = typeAt(ranged, minor);
        return type === undefined ? [] : [[key, type]];
      }),
    ),
  (structure, minor) => `${structure} ${minor}`,
);

/** Oldest and newest minor whose schema has a kind of document; undefined if none has it. */
export const minorsOfKind = (kind: string): [number, number] | undefined =>
  Object.hasOwn(kinds, kind) ? span(kinds[kind]) : undefined;

/** Oldest and newest minor whose schema has a key of a structure; undefined if none has it. */
export function minorsOfKey(structure: string, key: string): [number, number] | undefined {
  const keys = structures[structure];
  return keys && Object.hasOwn(keys, key) ? span(keys[key]) : undefined;
}

function typeAt(ranged: Ranged | undefined, minor: number): string | undefined {
  if (ranged === undefined || typeof ranged === "string") return ranged;
  const range = ranged.find(([, from, to]) => Number(from) <= minor && minor <= Number(to));
  return range?.[0] as string | undefined;
}

function span(ranged: Ranged | undefined): [number, number] | undefined {
  if (ranged === undefined) return undefined;
  if (typeof ranged === "string") return [schemaMinors[0]!, schemaMinors.at(-1)!];
  return [Number(ranged[0]?.[1]), Number(ranged.at(-1)?.[2])];
}
