import type { Check } from "./check";
import { extensionsOf, minorsWith } from "../facts/talos-release";

/** Extensions are there in the machine's Talos release. */
export const extensionRelease: Check = {
  id: "extension-release",
  source: "siderolabs/extensions, Makefile at each release; the Factory answers 400 when the image is pulled",
  find: ({ spec, machines, release }) => {
    if (!release) return [];
    const available = new Set(release.extensions ?? extensionsOf(release.minor.minor));
    return machines.flatMap((machine) =>
      (machine.spec.extensions ?? []).flatMap((name, index) => {
        const minors = minorsWith(name);
        if (minors.length === 0 || available.has(name)) return [];
        const last = minors.at(-1) ?? 0;
        const range = last < release.minor.minor ? `up to Talos 1.${last}` : `from Talos 1.${minors[0]} on`;
        return {
          field: `${machine.field}.extensions[${index}]`,
          problem: `${name} is not part of Talos ${spec.talosVersion}`,
          why: "the machine could not pull its image, in the middle of the upgrade",
          remedy: `leave it out, or take another release: it is there ${range}`,
        };
      }),
    );
  },
};
