import * as semver from "semver";
import { provider } from "../../../components/recipe/facts/data/since.json";

/** The newest contract that the Talos provider knows: that of its machinery (pulumi-talos v0.8.1, go.mod: v1.13.0). */
export const newestContract = `v1.${provider.minor}`;

/**
 * Parses a release such as `v1.12`, `v1.12.1`, `1.12` or `1.12.1` (the schema's own examples); undefined if it is not a
 * release.
 */
export function contractOf(version: unknown): semver.SemVer | undefined {
  const text = String(version);
  return /^v?\d+\.\d+(\.\d+\S*)?$/.test(text)
    ? (semver.parse(text) ?? semver.coerce(text) ?? undefined)
    : undefined;
}

/**
 * The release in whose form the provider generates a configuration. It generates the newest form that it knows for each
 * later release, so no document of Talos 1.14. The lab's talosctl is newer, and knows these documents.
 */
export const knownContract = (talosVersion: unknown): string =>
  (contractOf(talosVersion)?.minor ?? 0) > provider.minor ? newestContract : String(talosVersion);
