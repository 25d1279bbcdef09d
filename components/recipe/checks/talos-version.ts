import type { Check } from "./check";
import { knownMinors } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";

export const talosVersion: Check = {
  id: "talos-version",
  source:
    "siderolabs/extensions, nvidia-gpu/vars.yaml at each release; image-factory, docs/api.md (versions are written with their `v`)",
  find: ({ spec, release }) => {
    const version = parseTalosVersion(spec.talosVersion);
    const minors = knownMinors();
    const field = "talosVersion";
    if (!version) {
      return [
        {
          field,
          problem: `"${spec.talosVersion}" is not a release of Talos`,
          why: "drivers, extensions and images follow from it",
          remedy: "write one like `v1.12.6`",
        },
      ];
    }
    if (!release) {
      return [
        {
          field,
          problem: `Talos 1.${version.minor} is not known here (known: ${minors[0]} to ${minors.at(-1)})`,
          why: "which drivers it brings and how it exposes them would be guessed",
          remedy:
            "take a release of a known minor, or add the minor to the tables (recipe/facts/data/talos-releases.ts)",
        },
      ];
    }
    if (version.text === spec.talosVersion) return [];
    return [
      {
        field,
        problem: `"${spec.talosVersion}" lacks the leading v`,
        why: "installer images and the versions that machines report have it, so the two would never be equal",
        remedy: `write ${version.text}`,
      },
    ];
  },
};
