import { driverRows, firstCdiMinor, minorRows, type DriverRow, type MinorRow } from "./data/talos-releases";
import { extensionRows } from "./data/extensions";
import type { Era } from "../types";
import type { DriverBranch } from "../stack/spec/index";
import { parseTalosVersion, type TalosVersion } from "./version";

/** What is known of one Talos release. */
export interface Release {
  version: TalosVersion;
  era: Era;
  minor: MinorRow;
  drivers: DriverRow;
  /** What had to be assumed, in words; undefined when the very release was read. */
  assumption?: string;
}

/**
 * What is known of a Talos release. A patch release newer than the tables takes the newest row of its minor, and says so.
 * Undefined for anything that is not a release of a known minor.
 */
export function findRelease(text: string): Release | undefined {
  const version = parseTalosVersion(text);
  if (!version) return undefined;
  const minor = minorRows.find((row) => row.minor === version.minor);
  const rows = driverRows.filter((row) => row.minor === version.minor);
  const newest = rows.at(-1);
  if (!minor || !newest) return undefined;
  const drivers = rows.find((row) => row.from <= version.patch && version.patch <= row.to) ?? newest;
  return {
    version,
    era: eraOfMinor(version.minor),
    minor,
    drivers,
    ...(version.patch > newest.to
      ? {
          assumption: `${version.text} is newer than the tables: drivers of v1.${newest.minor}.${newest.to} are assumed (${newest.lts}, ${newest.production})`,
        }
      : {}),
  };
}

/** Era of a Talos release; `legacy` when it cannot be told. */
export function eraOf(text: string): Era {
  const version = parseTalosVersion(text);
  return version ? eraOfMinor(version.minor) : "legacy";
}

function eraOfMinor(minor: number): Era {
  return minor >= firstCdiMinor ? "cdi" : "legacy";
}

/** Driver of a branch in a release. */
export function driverOf(release: Release, branch: DriverBranch): string {
  return release.drivers[branch];
}

const extensionsByMinor = new Map<number, Set<string>>();

/** Official extensions of a minor, with the Factory's prefix. */
export function extensionsOf(minor: number): Set<string> {
  let names = extensionsByMinor.get(minor);
  if (!names) {
    names = new Set(
      extensionRows
        .filter((row) => row.from <= minor && minor <= (row.to ?? Infinity))
        .flatMap((row) => row.names.map((name) => `siderolabs/${name}`)),
    );
    extensionsByMinor.set(minor, names);
  }
  return names;
}

/** Minors that have an extension (name with prefix), oldest first; empty when no release has it. */
export function minorsWith(extension: string): number[] {
  return minorRows.map((row) => row.minor).filter((minor) => extensionsOf(minor).has(extension));
}

/** The minors that the tables know, oldest first, e.g. `1.8`. */
export function knownMinors(): string[] {
  return minorRows.map((row) => `1.${row.minor}`);
}
