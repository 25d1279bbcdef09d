import { createHash } from "node:crypto";
import * as semver from "semver";
import { extensionRows } from "../../components/recipe/facts/data/extensions";
import { driverRows, type DriverRow } from "../../components/recipe/facts/data/talos-releases";

// Which Talos releases the Factory offers, and which official extensions each of them has.

/** An official extension as the Factory lists it. */
export interface Extension {
  /** Name as schematics use it, e.g. `siderolabs/iscsi-tools`. */
  readonly name: string;
  /** Reference of its image; the tag is the extension's version. */
  readonly ref: string;
  /** Digest of its image, `sha256:…`. */
  readonly digest: string;
  readonly author: string;
  readonly description: string;
}

/** Versions of extensions by the Talos release from which they hold. Source: siderolabs/extensions, vars.yaml at the tags. */
const versions: Record<string, readonly (readonly [from: string, version: string])[]> = {
  "iscsi-tools": [
    ["1.8.0", "v0.1.6"],
    ["1.10.0", "v0.2.0"],
  ],
  "util-linux-tools": [
    ["1.9.0", "2.40.2"],
    ["1.9.3", "2.40.4"],
    ["1.11.0", "2.41.1"],
    ["1.12.0", "2.41.2"],
    ["1.12.7", "2.41.4"],
    ["1.13.7", "2.42.2"],
  ],
  "qemu-guest-agent": [
    ["1.9.0", "9.1.2"],
    ["1.9.2", "9.2.0"],
    ["1.10.0", "9.2.3"],
    ["1.10.4", "10.0.2"],
    ["1.12.0", "10.1.3"],
    ["1.12.1", "10.2.0"],
    ["1.13.0", "10.2.2"],
    ["1.13.1", "11.0.0"],
    ["1.13.4", "11.0.1"],
    ["1.13.7", "11.0.2"],
    ["1.14.0-rc.1", "11.1.0"],
  ],
  "intel-ucode": [
    ["1.9.0", "20241112"],
    ["1.9.4", "20250211"],
    ["1.10.4", "20250512"],
    ["1.10.7", "20250812"],
    ["1.10.8", "20251111"],
    ["1.11.0", "20250812"],
    ["1.12.0", "20251111"],
    ["1.12.4", "20260210"],
    ["1.12.6", "20260227"],
    ["1.12.8", "20260512"],
    ["1.13.0", "20260227"],
    ["1.13.3", "20260512"],
    ["1.13.9", "20260812"],
  ],
  "nvidia-gdrdrv-device": [
    ["1.12.0", "v2.5.1"],
    ["1.13.0", "v2.5.2"],
  ],
};

/** Names that were renamed since; the Factory still takes the old ones (internal/profile/profile.go). */
const aliases: Record<string, string> = {
  "siderolabs/v4l-uvc": "siderolabs/v4l-uvc-drivers",
  "siderolabs/usb-modem": "siderolabs/usb-modem-drivers",
  "siderolabs/gasket": "siderolabs/gasket-driver",
  "siderolabs/talos-vmtoolsd": "siderolabs/vmtoolsd-guest-agent",
  "siderolabs/xe-guest-utilities": "siderolabs/xen-guest-agent",
  "siderolabs/nvidia-container-toolkit": "siderolabs/nvidia-container-toolkit-lts",
  "siderolabs/nvidia-open-gpu-kernel-modules": "siderolabs/nvidia-open-gpu-kernel-modules-lts",
  "siderolabs/nonfree-kmod-nvidia": "siderolabs/nonfree-kmod-nvidia-lts",
  // Spelled so in the Factory; there is no extension of that name, so the alias leads nowhere.
  "siderolabs/nvidia-fabricmanager": "siderolabs/nvidia-fabric-manager-lts",
  "siderolabs/i915-ucode": "siderolabs/i915",
  "siderolabs/amdgpu-firmware": "siderolabs/amdgpu",
};

/**
 * The four releases after the last one that the recipe's tables have of a minor, as the Factory of a day to come would list
 * them. Their figures are made up, so that a run on one of them shows that the recipe took them from this Factory alone.
 */
function later(minor: number, drivers: Pick<DriverRow, "lts" | "production" | "toolkit">): DriverRow {
  const last = Math.max(...driverRows.filter((row) => row.minor === minor).map(({ to }) => to));
  return { minor, from: last + 1, to: last + 4, ...drivers };
}
/** Releases that the recipe's tables do not have, and their drivers: four of each of two minors. */
export const laterReleases: DriverRow[] = [
  later(13, { lts: "580.190.10", production: "595.99.10", toolkit: "1.19.2" }),
  later(14, { lts: "580.190.14", production: "595.99.14", toolkit: "1.19.2" }),
];
const allRows: DriverRow[] = [...driverRows, ...laterReleases];

/** Talos releases whose drivers are known, oldest first, each with its `v`. */
export function knownVersions(): string[] {
  return [...allRows]
    .sort((a, b) => a.minor - b.minor || a.from - b.from)
    .flatMap((row) => [
      ...(row.minor === 14 && row.from === 0 ? ["v1.14.0-rc.1"] : []),
      ...Array.from({ length: row.to - row.from + 1 }, (_, index) => `v1.${row.minor}.${row.from + index}`),
    ]);
}

/**
 * Drivers of a Talos release (with its `v`). One newer than all rows of its minor brings what the last of them does.
 * Undefined where the minor has none.
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
    .map((name) => extension(name, tag(name, talosVersion, drivers)));
}

/** Finds an extension the way the Factory does when it makes an image: by its name, else by what the name became. */
export function findExtension(extensions: readonly Extension[], name: string): Extension | undefined {
  return extensions.find((each) => each.name === name) ?? extensions.find((each) => each.name === aliases[name]);
}

/** Kernel modules belong to one build of Talos; the toolkit brings the libraries of one driver. Else: its own version. */
function tag(name: string, talosVersion: string, drivers: DriverRow | undefined): string {
  const driver = name.endsWith("-production") ? drivers?.production : drivers?.lts;
  if (/^(nvidia-open-gpu-kernel-modules|nonfree-kmod-nvidia)-/.test(name)) return `${driver}-${talosVersion}`;
  if (name.startsWith("nvidia-container-toolkit-")) return `${driver}-v${drivers?.toolkit}`;
  if (name.startsWith("nvidia-fabricmanager-")) return `${driver}`;
  const known = versions[name]?.filter(([from]) => semver.gte(talosVersion, from)).at(-1)?.[1];
  return known ?? talosVersion; // a version that the lab does not know, and that nothing in it reads
}

const extension = (name: string, version: string): Extension => {
  const ref = `ghcr.io/siderolabs/${name}:${version}`;
  return {
    name: `siderolabs/${name}`,
    ref,
    // There is no image behind the reference; the digest is of the reference, so that it is stable and distinct.
    digest: `sha256:${createHash("sha256").update(ref).digest("hex")}`,
    author: "Sidero Labs",
    description: `This system extension provides ${name}.\n`,
  };
};
