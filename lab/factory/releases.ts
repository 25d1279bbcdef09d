import { createHash } from "node:crypto";
import * as semver from "semver";
import { renamed } from "../../components/recipe/machine/losses";
import {
  driverRows,
  extensionRows,
  type DriverRow,
} from "../../components/recipe/facts/talos-release";

// Which Talos releases the Factory offers, and which official extensions each of them has.

/** An official extension in the Factory's list. */
export interface Extension {
  /** Name in schematics, e.g. `siderolabs/iscsi-tools`. */
  readonly name: string;
  /** Reference of its image; the tag is the extension's version. */
  readonly ref: string;
  readonly digest: string;
  readonly author: string;
  readonly description: string;
}

/** Former names of extensions, which the Factory still accepts (internal/profile/profile.go). */
const aliases: Record<string, string> = {
  ...renamed,
  "siderolabs/nvidia-container-toolkit": "siderolabs/nvidia-container-toolkit-lts",
  "siderolabs/nvidia-open-gpu-kernel-modules": "siderolabs/nvidia-open-gpu-kernel-modules-lts",
  "siderolabs/nonfree-kmod-nvidia": "siderolabs/nonfree-kmod-nvidia-lts",
  // The Factory's spelling; no extension has that name, so the alias has no effect.
  "siderolabs/nvidia-fabricmanager": "siderolabs/nvidia-fabric-manager-lts",
  "siderolabs/i915-ucode": "siderolabs/i915",
  "siderolabs/amdgpu-firmware": "siderolabs/amdgpu",
};

/**
 * The four releases after the last known one of a minor, as a future Factory would list them. Their driver versions are
 * invented. So a run on such a release shows that the recipe got them from this Factory.
 */
function futureReleases(
  minor: number,
  drivers: Pick<DriverRow, "lts" | "production" | "toolkit">,
): DriverRow {
  const lastPatch = Math.max(
    ...driverRows.filter((row) => row.minor === minor).map(({ to }) => to),
  );
  return { minor, from: lastPatch + 1, to: lastPatch + 4, ...drivers };
}
/** Releases that the recipe's tables lack, and their drivers: four of each of two minors. */
export const laterReleases: DriverRow[] = [
  futureReleases(13, { lts: "580.190.10", production: "595.99.10", toolkit: "1.19.2" }),
  futureReleases(14, { lts: "580.190.14", production: "595.99.14", toolkit: "1.19.2" }),
];
const allRows: DriverRow[] = [...driverRows, ...laterReleases];

/** Talos releases whose drivers are known, oldest first, each with its `v`. */
export function knownVersions(): string[] {
  return [...allRows]
    .sort((a, b) => a.minor - b.minor || a.from - b.from)
    .flatMap((row) => [
      ...(row.from === 0 ? [`v1.${row.minor}.0-beta.0`] : []),
      ...Array.from(
        { length: row.to - row.from + 1 },
        (_, index) => `v1.${row.minor}.${row.from + index}`,
      ),
    ]);
}

/**
 * Drivers of a Talos release (with its `v`). A release newer than all rows of its minor has the drivers of the last
 * row. Undefined if the minor has no row.
 */
export function driversOf(talosVersion: string): DriverRow | undefined {
  const { minor, patch } = new semver.SemVer(talosVersion);
  return allRows.findLast((row) => row.minor === minor && row.from <= patch);
}

/** Official extensions of a Talos release (with its `v`), by name. */
export function officialExtensions(talosVersion: string): Extension[] {
  const { minor } = new semver.SemVer(talosVersion);
  const drivers = driversOf(talosVersion);
  return extensionRows
    .filter((row) => row.from <= minor && minor <= (row.to ?? Infinity))
    .flatMap((row) => row.names)
    .filter((name) => drivers !== undefined || !name.includes("nvidia"))
    .sort()
    .map((name) => makeExtension(name, tagOf(name, talosVersion, drivers)));
}

/** Finds an extension like the Factory when it makes an image: by its name, else by the name's replacement. */
export const findExtension = (
  extensions: readonly Extension[],
  name: string,
): Extension | undefined =>
  extensions.find((extension) => extension.name === name) ??
  extensions.find((extension) => extension.name === aliases[name]);

/**
 * Version in an extension's tag. Kernel modules are built for one Talos release; the toolkit has one driver's
 * libraries.
 */
function tagOf(name: string, talosVersion: string, drivers: DriverRow | undefined): string {
  const branch =
    (["production", "new-feature"] as const).find((branchName) =>
      name.endsWith(`-${branchName}`),
    ) ?? "lts";
  const driver = drivers?.[branch];
  if (/^(nvidia-open-gpu-kernel-modules|nonfree-kmod-nvidia)-/.test(name))
    return `${driver}-${talosVersion}`;
  if (name.startsWith("nvidia-container-toolkit-"))
    return [driver, ...(drivers?.toolkit ? [drivers.toolkit] : [])].join("-v");
  if (name.startsWith("nvidia-fabricmanager-")) return `${driver}`;
  return talosVersion; // other extensions have their own versions, which the lab does not read
}

const makeExtension = (name: string, version: string): Extension => {
  const ref = `ghcr.io/siderolabs/${name}:${version}`;
  return {
    name: `siderolabs/${name}`,
    ref,
    // The image does not exist. The digest is a hash of the reference, so it is stable and unique.
    digest: `sha256:${createHash("sha256").update(ref).digest("hex")}`,
    author: "Sidero Labs",
    description: `This system extension provides ${name}.\n`,
  };
};
