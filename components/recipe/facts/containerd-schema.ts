import data from "./data/containerd-schema.json";
import { minorRows } from "./data/talos-releases";
import type { TypeText } from "./talos-schema";

/** What containerd takes in its configuration, release by release (`npm run facts:containerd` makes the data). */

/** Minor of containerd 2 in a Talos minor, 0 for 2.0: of one that the tables do not have, that of the nearest. */
export function containerdMinor(talosMinor: number): number {
  const row = minorRows.findLast(({ minor }) => minor <= talosMinor) ?? minorRows[0];
  return Number(row?.containerd.split(".")[1]);
}

const structures: Record<string, Record<string, string | (string | number)[]>> = data.defs;
const roots: Record<string, string> = data.roots;

/** Plugins whose tables are known, by ID. */
export const knownPlugins: string[] = Object.keys(roots).filter((id) => id !== "");

/** Structure of a plugin's table, or of the whole file for `""`. */
export function structureOfPlugin(id: string): string | undefined {
  return Object.hasOwn(roots, id) ? roots[id] : undefined;
}

/** Keys of a structure with their types. */
export function containerdKeys(structure: string, minor: number): Map<string, TypeText> {
  return new Map(
    Object.entries(structures[structure] ?? {}).flatMap(([key, ranged]): [string, string][] => {
      if (typeof ranged === "string") return [[key, ranged]];
      const [type, from, to] = ranged;
      return Number(from) <= minor && minor <= Number(to) ? [[key, String(type)]] : [];
    }),
  );
}
