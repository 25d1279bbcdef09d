import { extensions } from "./data/since.json";
import tables from "./data/talos-releases.json";
import { defined } from "../mapping";
import { remembering } from "../memory";
import type { ReleaseFactsSpec } from "../spec/index";
import { compareDotted, parseTalosVersion, type TalosVersion } from "./version";

/**
 * How a Talos release injects cards into containers, named after the program that makes the cards' CDI specification.
 * `legacy`: no program makes one (Talos ≤ 1.12). `cdi`: the extension's service (1.13 and 1.14). `nri`: the operator's
 * toolkit (≥ 1.15). All machines of a cluster must inject cards in the same way. Releases that inject cards in the same
 * way may differ in the program that adds a card to a container: the toolkit's version decides this
 * (`usesContainerCli`).
 */
export type Injection = "legacy" | "cdi" | "nri";

/** Properties that all releases of a Talos minor share. */
export interface Capabilities {
  /**
   * Source of NVIDIA's container toolkit. If an extension contains the toolkit, containerd has a handler `nvidia` for a
   * RuntimeClass. The GPU Operator's toolkit adds no handler, because Talos' configuration of containerd is read-only.
   * Instead, its NRI plugin gives all cards to pods that need all of them, e.g. for monitoring.
   */
  toolkit: "extension" | "operator";
  /**
   * Program that writes the CDI specification of all cards: `extension` (the service ext-nvidia-cdi-gen), `operator`
   * (the operator's toolkit) or `nobody`, if no program finds the driver's files.
   */
  cdi: "nobody" | "extension" | "operator";
  /** Folder of the driver's libraries, e.g. `/usr/local/lib`. */
  libraries: string;
  /** Whether a machine's configuration has separate documents for kernel modules, sysctls and the kubelet. */
  documents: boolean;
  /** Service of Talos' API that installs an image. */
  upgradeApi: "legacy" | "lifecycle";
}

const injections = {
  nobody: "legacy",
  extension: "cdi",
  operator: "nri",
} as const satisfies Record<Capabilities["cdi"], Injection>;

/** One range of patch releases with the same NVIDIA drivers. */
export interface DriverRow {
  /** Minor of Talos, e.g. 12 for 1.12. */
  minor: number;
  /** First patch release of the range. */
  from: number;
  /** Last patch release of the range in the tables. */
  to: number;
  lts: string;
  production: string;
  "new-feature"?: string;
  /** Version of the NVIDIA container toolkit; absent if no extension contains it. */
  toolkit?: string;
  /**
   * Whether the row is inferred from the neighbouring releases. The Image Factory's answer overrides such a row.
   * Without this answer the update verifies only the driver's branch.
   */
  inferred?: boolean;
}

/** Drivers of every release in the tables, by minor and patch. */
export const driverRows: DriverRow[] = tables.drivers;

/** Facts about all releases of a Talos minor. */
export interface MinorRow extends Capabilities {
  minor: number;
  /**
   * Versions of containerd by ranges of patch releases, oldest first. All releases of a range have the same minor of
   * containerd; `version` is that of the first release.
   */
  containerd: { from: number; to: number; version: string }[];
  /** First and last Kubernetes minor that this Talos supports. */
  kubernetes: { from: number; to: number };
}

/** All minors that this package knows, oldest first. */
export const minorRows = tables.minors as MinorRow[];

/**
 * Official extensions by the Talos minors that have them. If `to` is absent, the newest minor in the tables still has
 * the extensions.
 */
export const extensionRows: { from: number; to?: number; names: string[] }[] = extensions.rows;

/** Facts about one Talos release. */
export interface Release {
  version: TalosVersion;
  minor: MinorRow;
  drivers: DriverRow;
  /** Where the drivers come from if the tables lack or only infer the release; else undefined. */
  beyondTables?: BeyondTables;
  /**
   * Whether the drivers are assumed, because the Image Factory's answer is missing. The update then verifies only their
   * branch.
   */
  assumed?: boolean;
  /** Official extensions in the Factory's list; undefined if the minor's list applies. */
  extensions?: string[];
}

/** Where the drivers come from, for a release that the tables lack or only infer. */
export interface BeyondTables {
  /** Whether the tables infer the release. */
  inferred: boolean;
  /** Whether the Image Factory has answered which drivers the release contains. */
  driversFromFactory: boolean;
  /** Reason why the Factory gave no answer; undefined if it was not asked. */
  silent?: string;
  /** The release whose drivers the package assumes without the Factory's answer, e.g. `v1.13.9`. */
  like: string;
}

/**
 * Whether the tables list a release. `newer`: the tables have other releases of its minor, or only infer the release.
 * `unknown`: the tables lack its minor.
 */
export function releaseInTables(text: string): "known" | "newer" | "unknown" {
  const version = parseTalosVersion(text);
  if (!version || !driverRows.some((row) => row.minor === version.minor)) return "unknown";
  const row = rowOf(version);
  return row === undefined || row.inferred ? "newer" : "known";
}

const rowOf = ({ minor, patch }: TalosVersion): DriverRow | undefined =>
  driverRows.find((row) => row.minor === minor && row.from <= patch && patch <= row.to);

/**
 * Facts about a Talos release. If the tables lack or only infer the release, the facts come from the Image Factory
 * (`facts`). Without the Factory's answer, the drivers are assumed: those of the inferred row, or of the newest row of
 * the minor. Undefined for any text that is not a release of a known minor.
 */
export function findRelease(text: string, facts?: ReleaseFactsSpec): Release | undefined {
  const version = parseTalosVersion(text);
  if (!version) return undefined;
  const minor = minorRows.find((row) => row.minor === version.minor);
  const rows = driverRows.filter((row) => row.minor === version.minor);
  const newest = rows.at(-1);
  if (!minor || !newest) return undefined;
  const release = { version, minor };
  const row = rowOf(version);
  if (row && !row.inferred) return { ...release, drivers: row };
  const likelyDrivers = row ?? newest;
  const beyondTables = { inferred: row !== undefined, like: `v1.${newest.minor}.${newest.to}` };
  const statedFacts =
    facts !== undefined && parseTalosVersion(facts.talosVersion)?.text === version.text
      ? facts
      : undefined;
  if (statedFacts?.lts !== undefined && statedFacts.production !== undefined) {
    const { lts, production, newFeature, extensions } = statedFacts;
    const { toolkit } =
      minor.toolkit === "operator" ? {} : { toolkit: statedFacts.toolkit ?? likelyDrivers.toolkit };
    const range = { minor: version.minor, from: version.patch, to: version.patch };
    return {
      ...release,
      drivers: { ...range, lts, production, ...defined({ "new-feature": newFeature, toolkit }) },
      beyondTables: { ...beyondTables, driversFromFactory: true },
      ...(extensions === undefined ? {} : { extensions }),
    };
  }
  return {
    ...release,
    drivers: likelyDrivers,
    beyondTables: {
      ...beyondTables,
      driversFromFactory: false,
      ...defined({ silent: statedFacts?.silent }),
    },
    assumed: true,
  };
}

/**
 * First toolkit whose runtime itself makes CDI devices (mode `jit-cdi`). Source: nvidia-container-toolkit v1.18.0,
 * internal/info/auto.go.
 */
const firstJitCdi = "1.18.0";

/**
 * Whether a release's toolkit adds cards to containers by nvidia-container-cli, with its BPF device filter. Toolkits up
 * to 1.17 use this program, and Talos up to 1.11 contains such a toolkit. If the toolkit is unknown, the result is true
 * for Talos ≤ 1.12.
 */
export function usesContainerCli(text: string, facts?: ReleaseFactsSpec): boolean {
  const release = findRelease(text, facts);
  const toolkit = release?.drivers.toolkit;
  return toolkit === undefined
    ? injectionOf(text) === "legacy"
    : compareDotted(toolkit, firstJitCdi) < 0;
}

/**
 * Properties of a release's minor. If the tables lack the minor, the function uses the nearest earlier minor; for a
 * text that is not a release, it uses the oldest minor.
 */
export function capabilitiesOf(text: string): Capabilities {
  const minor = parseTalosVersion(text)?.minor ?? 0;
  return minorRows.findLast((row) => row.minor <= minor) ?? minorRows[0]!;
}

/** How a Talos release injects cards. */
export const injectionOf = (text: string): Injection => injections[capabilitiesOf(text).cdi];

/** First Talos minor that injects cards in the given way. */
export const firstMinorOf = (injection: Injection): number =>
  minorRows.find((row) => injections[row.cdi] === injection)!.minor;

/**
 * First Talos minor that is newer than a release and injects cards in another way; undefined if the tables have no such
 * minor.
 */
export function nextInjectionAfter(text: string): number | undefined {
  const minor = parseTalosVersion(text)?.minor ?? 0;
  return minorRows.find((row) => row.minor > minor && injections[row.cdi] !== injectionOf(text))
    ?.minor;
}

/** Official extensions of a minor, with the prefix `siderolabs/`. */
export const extensionsOf = remembering(
  (minor: number) =>
    new Set(
      extensionRows
        .filter((row) => row.from <= minor && minor <= (row.to ?? Infinity))
        .flatMap((row) => row.names.map((name) => `siderolabs/${name}`)),
    ),
);

/** Minors that have an extension, oldest first; empty if none has it. The name has the prefix `siderolabs/`. */
export const minorsWith = (extension: string): number[] =>
  minorRows.map((row) => row.minor).filter((minor) => extensionsOf(minor).has(extension));

/** The newest release in the tables whose row is not inferred. */
export function newestRelease(): string {
  const { minor, to } = driverRows.findLast(({ inferred }) => !inferred)!;
  return `v1.${minor}.${to}`;
}

/** The minors in the tables, oldest first, e.g. `1.8`. */
export const knownMinors = (): string[] => minorRows.map((row) => `1.${row.minor}`);
