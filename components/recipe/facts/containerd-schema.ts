import data from "./data/containerd-schema.json";
import type { TypeText } from "./talos-schema";

/** What containerd takes in its configuration, release by release (`npm run facts:containerd` makes the data). */

/**
 * containerd's minor in a Talos minor, 0 for 2.0.
 * Source: siderolabs/talos, pkg/machinery/constants, DefaultContainerdVersion at v1.8.3 to v1.14.0-rc.1.
 */
const containerdMinors: Record<number, number> = { 8: 0, 9: 0, 10: 0, 11: 1, 12: 1, 13: 2, 14: 3 };

/** Minor of containerd 2 in a Talos minor; the newest known one where that is not known. */
export function containerdMinor(talosMinor: number): number {
  return containerdMinors[talosMinor] ?? (talosMinor < 8 ? 0 : 3);
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
