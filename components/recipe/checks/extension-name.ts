import type { Check } from "./check";
import { soundsLikeNvidia, unsuffixedNames } from "../facts/extension";
import { extensionsOf, minorsWith } from "../facts/talos-release";
import { shown } from "../rules";
import { closest } from "../rules/suggest";

const withoutPrefix = (name: string): string => name.replace(/^.*\//, "");

/** Extensions are called as Talos calls them. */
export const extensionName: Check = {
  id: "extension-name",
  source:
    "siderolabs/extensions, Makefile; image-factory, internal/profile (unsuffixed names stand for `-lts`, in silence)",
  find: ({ spec, machines, release }) =>
    machines.flatMap((machine) =>
      (machine.spec.extensions ?? []).flatMap((name, index) => {
        const field = `${machine.field}.extensions[${index}]`;
        const suffixed = Object.hasOwn(unsuffixedNames, name) ? unsuffixedNames[name] : undefined;
        if (suffixed)
          return {
            field,
            problem: `${shown(name)} does not say which branch`,
            why: "the Image Factory silently takes it for the lts branch, which may be older or newer than the rest of the driver",
            remedy: `write ${suffixed.join(" or ")}, or leave it out: NVIDIA's extensions follow from the card and driver.branch`,
          };
        if (minorsWith(name).length > 0 || release?.extensions?.includes(name)) return [];
        const known = release ? [...extensionsOf(release.minor.minor)].map(withoutPrefix) : [];
        const meant = closest(withoutPrefix(name), known);
        // A Factory of one's own may list others. Its installer is asked for before any machine reboots.
        if (spec.factoryUrl !== undefined && meant === undefined && !soundsLikeNvidia(name)) return [];
        const advice = soundsLikeNvidia(name)
          ? "leave it out: NVIDIA's extensions follow from the card and driver.branch;"
          : meant === undefined
            ? "one of your own needs an Image Factory of your own that lists it (factoryUrl);"
            : `did you mean "siderolabs/${meant}"?`;
        return {
          field,
          problem: `there is no official extension ${shown(name)} in any Talos release`,
          why: "the Image Factory takes any name into a schematic and fails only when the machine pulls the image",
          remedy: `${advice} names are listed at /version/<release>/extensions/official of the Factory`,
        };
      }),
    ),
};
