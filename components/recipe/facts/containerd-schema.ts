import data from "./data/containerd-schema.json";
import { minorRows } from "./talos-release";
import type { TypeText } from "./talos-schema";
import { parseTalosVersion } from "./version";

/**
 * Keys and values that containerd accepts in its configuration, by release (`npm run facts:containerd` makes the
 * data).
 */

/** The containerd 2 of a Talos release. */
export interface ContainerdRelease {
  /** Its minor, 0 for 2.0. */
  minor: number;
  /**
   * Whether the tables have that release of Talos; otherwise the minor is the newest that is known of it, and may be
   * higher.
   */
  isKnown: boolean;
}

/**
 * The containerd of a Talos release. One that the tables do not have, or that is no release, gets that of the nearest
 * one before.
 */
export function containerdOf(talosVersion: string): ContainerdRelease {
  const { minor, patch } = parseTalosVersion(talosVersion) ?? { minor: 0, patch: 0 };
  const row = minorRows.findLast((candidate) => candidate.minor <= minor) ?? minorRows[0]!;
  const range = row.containerd.find(
    ({ from, to }) => row.minor === minor && from <= patch && patch <= to,
  );
  const { version } = range ?? row.containerd.at(-1)!;
  return { minor: Number(version.split(".")[1]), isKnown: range !== undefined };
}

const structures: Record<string, Record<string, string | (string | number)[]>> = data.defs;
const roots: Record<string, string> = data.roots;

/** Plugins whose tables are known, by ID. */
export const knownPlugins: string[] = Object.keys(roots).filter((id) => id !== "");

/** Structure of a plugin's table, or of the whole file for `""`. */
export const structureOfPlugin = (id: string): string | undefined =>
  Object.hasOwn(roots, id) ? roots[id] : undefined;

/**
 * Keys of a structure with their types.
 *
 * @param last for a release that may be of a later minor: the last minor whose keys count, too. Default: the minor
 * alone.
 */
export const containerdKeys = (
  structure: string,
  minor: number,
  last: number = minor,
): Map<string, TypeText> =>
  new Map(
    Object.entries(structures[structure] ?? {}).flatMap(([key, ranged]): [string, string][] => {
      if (typeof ranged === "string") return [[key, ranged]];
      const [type, from, to] = ranged;
      return Number(from) <= last && minor <= Number(to) ? [[key, String(type)]] : [];
    }),
  );
