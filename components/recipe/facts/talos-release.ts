import { extensions } from "./data/since.json";
import tables from "./data/talos-releases.json";
import { defined } from "../mapping";
import { remembering } from "../memory";
import type { ReleaseFactsSpec } from "../spec/index";
import { compareDotted, parseTalosVersion, type TalosVersion } from "./version";

/**
 * In which way a cluster of a release offers its cards, which all of its machines have to share: it follows from who
 * makes CDI specifications (`eras`). How the runtime brings a card into a container depends on the toolkit's version
 * instead (`usesContainerCli`).
 */
export type Era = "legacy" | "cdi" | "nri";

/** Capabilities and contents of the releases of a minor. */
export interface Capabilities {
  /**
   * Who brings NVIDIA's container toolkit. The extension's comes with a handler `nvidia` of containerd, which a
   * RuntimeClass names; the GPU Operator's has none, since Talos' configuration of containerd is read-only, and gives
   * all cards to a pod by its NRI plugin.
   */
  toolkit: "extension" | "operator";
  /**
   * Who makes the CDI specification of all cards: the extension's service ext-nvidia-cdi-gen, the operator's toolkit,
   * or none, since no tool finds the driver's files.
   */
  cdi: "nobody" | "extension" | "operator";
  libraries: string;
  /** Whether kernel modules, sysctls and the kubelet have documents of their own in a machine's configuration. */
  documents: boolean;
  /** Service of Talos' API by which an image is installed. */
  upgradeApi: "legacy" | "lifecycle";
}

const eras = { nobody: "legacy", extension: "cdi", operator: "nri" } as const satisfies Record<
  Capabilities["cdi"],
  Era
>;

/** One range of patch releases with the same NVIDIA drivers. */
export interface DriverRow {
  /** Minor of Talos, e.g. 12 for 1.12. */
  minor: number;
  /** First patch release of the range. */
  from: number;
  /** Last patch release of the range that was read. */
  to: number;
  lts: string;
  production: string;
  "new-feature"?: string;
  /** Version of the NVIDIA container toolkit; absent where the extension has none. */
  toolkit?: string;
  /**
   * Concluded from the releases around it: the Factory's word goes before it, and of a driver only the branch is
   * verified.
   */
  inferred?: boolean;
}

/** Drivers of every release that was read, by minor and patch. */
export const driverRows: DriverRow[] = tables.drivers;

/** Facts that hold for all releases of a minor. */
export interface MinorRow extends Capabilities {
  minor: number;
  /**
   * containerd, by the minor's patch releases that were read, oldest first: ranges of one minor, with the version of
   * the first release.
   */
  containerd: { from: number; to: number; version: string }[];
  /** First and last Kubernetes minor that this Talos runs. */
  kubernetes: { from: number; to: number };
}

/** Every minor that this package knows, oldest first. */
export const minorRows = tables.minors as MinorRow[];

/** Official extensions, by the minors that have them; without `to`, the newest one that was read still does. */
export const extensionRows: { from: number; to?: number; names: string[] }[] = extensions.rows;

/** Known facts about one Talos release. */
export interface Release {
  version: TalosVersion;
  minor: MinorRow;
  drivers: DriverRow;
  /** Where the drivers are from; undefined if they are from the tables. */
  beyondTables?: BeyondTables;
  /** Whether the drivers are a guess, so that only their branch can be verified. */
  assumed?: boolean;
  /** Official extensions as the Factory lists them; undefined: those of the minor. */
  extensions?: string[];
}

/** Where the drivers of a release are from that the tables do not have, or only by inference. */
export interface BeyondTables {
  /** Whether the tables have the release, by inference. */
  inferred: boolean;
  /** Whether the Image Factory says which drivers it brings. */
  answered: boolean;
  /** Why the Factory says nothing; undefined if nothing asked it. */
  silent?: string;
  /** The release whose drivers are assumed if the Factory does not answer, e.g. `v1.13.9`. */
  like: string;
}

/**
 * Whether the tables have a release; `newer`: their minor has it not yet, or by inference alone; `unknown`: they do
 * not have its minor.
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
 * Known facts about a Talos release. A patch release newer than the tables brings what the Image Factory says
 * (`facts`); where that says nothing, the drivers of the newest row of its minor are assumed. So it is with an
 * inferred row. Undefined for anything that is not a release of a known minor.
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
  const likely = row ?? newest;
  const beyond = { inferred: row !== undefined, like: `v1.${newest.minor}.${newest.to}` };
  const told =
    facts !== undefined && parseTalosVersion(facts.talosVersion)?.text === version.text
      ? facts
      : undefined;
  if (told?.lts !== undefined && told.production !== undefined) {
    const { lts, production, newFeature, extensions } = told;
    const { toolkit } =
      minor.toolkit === "operator" ? {} : { toolkit: told.toolkit ?? likely.toolkit };
    const at = { minor: version.minor, from: version.patch, to: version.patch };
    return {
      ...release,
      drivers: { ...at, lts, production, ...defined({ "new-feature": newFeature, toolkit }) },
      beyondTables: { ...beyond, answered: true },
      ...(extensions === undefined ? {} : { extensions }),
    };
  }
  return {
    ...release,
    drivers: likely,
    beyondTables: { ...beyond, answered: false, ...defined({ silent: told?.silent }) },
    assumed: true,
  };
}

/**
 * First toolkit whose runtime makes CDI devices by itself (mode `jit-cdi`). Source: nvidia-container-toolkit v1.18.0,
 * internal/info/auto.go.
 */
const firstJitCdi = "1.18.0";

/**
 * Whether a release's toolkit puts cards into containers by nvidia-container-cli, with its BPF device filter: up to
 * 1.17, so up to Talos 1.11. A release that is not known is taken for what its era says.
 */
export function usesContainerCli(text: string, facts?: ReleaseFactsSpec): boolean {
  const release = findRelease(text, facts);
  const toolkit = release?.drivers.toolkit;
  return toolkit === undefined ? eraOf(text) === "legacy" : compareDotted(toolkit, firstJitCdi) < 0;
}

/**
 * Capabilities of a release: those of its minor, else of the nearest earlier minor in the tables; for a text that is
 * no release, those of the oldest.
 */
export function capabilitiesOf(text: string): Capabilities {
  const minor = parseTalosVersion(text)?.minor ?? 0;
  return minorRows.findLast((row) => row.minor <= minor) ?? minorRows[0]!;
}

/** Era of a Talos release. */
export const eraOf = (text: string): Era => eras[capabilitiesOf(text).cdi];

/** First minor of an era. */
export const firstMinorOf = (era: Era): number =>
  minorRows.find((row) => eras[row.cdi] === era)!.minor;

/** First minor of the era after a release's own; undefined where the tables know none. */
export function nextEraAfter(text: string): number | undefined {
  const minor = parseTalosVersion(text)?.minor ?? 0;
  return minorRows.find((row) => row.minor > minor && eras[row.cdi] !== eraOf(text))?.minor;
}

/** Official extensions of a minor, with the Factory's prefix. */
export const extensionsOf = remembering(
  (minor: number) =>
    new Set(
      extensionRows
        .filter((row) => row.from <= minor && minor <= (row.to ?? Infinity))
        .flatMap((row) => row.names.map((name) => `siderolabs/${name}`)),
    ),
);

/** Minors that have an extension (name with prefix), oldest first; empty when no release has it. */
export const minorsWith = (extension: string): number[] =>
  minorRows.map((row) => row.minor).filter((minor) => extensionsOf(minor).has(extension));

/** The newest release that the tables know without inference: betas and what was only announced are not it. */
export function newestRelease(): string {
  const { minor, to } = driverRows.findLast(({ inferred }) => !inferred)!;
  return `v1.${minor}.${to}`;
}

/** The minors that the tables know, oldest first, e.g. `1.8`. */
export const knownMinors = (): string[] => minorRows.map((row) => `1.${row.minor}`);
