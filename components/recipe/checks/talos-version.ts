import type { Check } from "./check";
import { knownMinors } from "../facts/talos-release";
import { factsOf } from "../machine/apart";
import { parseTalosVersion } from "../facts/version";

/**
 * First minor whose toolkit extension brings no NVIDIA Container Toolkit: the operator installs it.
 * Source: siderolabs/extensions#1344; Talos 1.15's documentation, NVIDIA GPU.
 */
const firstWithoutToolkit = 15;

/** Names of Talos' releases (siderolabs/talos, tags). */
const ofTalos = /^v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?$/;

/** Talos' release is one whose drivers are known. */
export const talosVersion: Check = {
  id: "talos-version",
  source:
    "siderolabs/extensions, nvidia-gpu/vars.yaml at each release; image-factory, docs/api.md (versions are written with their `v`)",
  find: ({ spec, release }) => {
    const version = parseTalosVersion(spec.talosVersion);
    const minors = knownMinors();
    const field = "talosVersion";
    if (!version)
      return {
        field,
        problem: `"${spec.talosVersion}" is not a release of Talos`,
        why: "drivers, extensions and images follow from it",
        remedy: "write one like `v1.12.6`",
      };
    if (version.minor >= firstWithoutToolkit)
      return {
        field,
        problem: `Talos 1.${version.minor} is not supported yet`,
        why: `from Talos 1.${firstWithoutToolkit} on, the toolkit extension holds only the driver's libraries; the NVIDIA Container Toolkit is installed in another way, which this package does not support yet`,
        remedy: `take a release of 1.${minors.at(-1)?.split(".")[1]} or older`,
      };
    if (factsOf(spec, spec.talosVersion)?.missing)
      return {
        field,
        problem: `the Image Factory has no release ${spec.talosVersion}`,
        why: "it makes the machines' image, so no machine could pull it",
        remedy: "take a release that it lists at /versions",
      };
    if (!release)
      return {
        field,
        problem: `Talos 1.${version.minor} is not known here (known: ${minors[0]} to ${minors.at(-1)})`,
        why: "which drivers it brings and how it exposes them would be guessed",
        remedy: "take a release of a known minor, or add the minor to the tables (recipe/facts/data/talos-releases.ts)",
      };
    if (version.prerelease && !ofTalos.test(version.text) && spec.factoryUrl === undefined)
      return {
        field,
        problem: `"${spec.talosVersion}" is not a release name`,
        why: "Talos' own are called alpha, beta and rc with a number, and the public Image Factory has no others",
        remedy: "write a release, or name the Image Factory that has this build (factoryUrl)",
      };
    if (version.text === spec.talosVersion) return [];
    return {
      field,
      problem: `"${spec.talosVersion}" lacks the leading v`,
      why: "installer images and machines name releases with a leading v, so the wanted and the running release would never compare as equal",
      remedy: `write ${version.text}`,
    };
  },
};
