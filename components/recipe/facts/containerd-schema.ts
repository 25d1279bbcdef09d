import data from "./data/containerd-schema.json";
import { minorRows } from "./talos-release";
import type { TypeText } from "./talos-schema";
import { parseTalosVersion } from "./version";

/**
 * Keys and values that containerd accepts in its configuration, by release (`npm run facts:containerd` makes the
 * data).
 */

/** The minor of containerd 2 in a Talos release. */
export interface ContainerdRelease {
  /** Minor of containerd 2, e.g. 0 for 2.0. */
  minor: number;
  /**
   * Whether the tables list the Talos release. If not, `minor` is that of the nearest older Talos release, and the
   * release's real containerd may have a higher minor.
   */
  isKnown: boolean;
}

/**
 * The containerd of a Talos release. If the tables lack the release, the function returns the containerd of the nearest
 * older release. For a text that is no release, it returns the containerd of the oldest minor.
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

/** IDs of the plugins whose tables are known. */
export const knownPlugins: string[] = Object.keys(roots).filter((id) => id !== "");

/** Name of the structure of a plugin's table; for `""` the name of the whole file's structure. */
export const structureOfPlugin = (id: string): string | undefined =>
  Object.hasOwn(roots, id) ? roots[id] : undefined;

/**
 * Keys of a structure with their types.
 *
 * @param last if the release may have a later minor than `minor`: the last minor whose keys the result also contains.
 * Default: only `minor` counts.
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
