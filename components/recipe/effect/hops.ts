import * as semver from "semver";
import { etcd } from "../facts/data/since.json";
import { nvidiaExtension } from "../facts/extension";
import {
  driverRows,
  extensionsOf,
  findRelease,
  minorRows,
  minorsWith,
} from "../facts/talos-release";
import { majorOf, parseTalosVersion } from "../facts/version";
import type { FindingText } from "../rules";

/**
 * Facts that decide whether one update can upgrade a machine over several minors. `upgradePath` ignores absent facts.
 */
export interface HopBasis {
  /** Official extensions of the wanted image. */
  extensions?: readonly string[] | undefined;
  /** Whether Omni upgrades the machine. */
  byOmni?: boolean | undefined;
  /** Whether the user names the installer image. Such an image contains only one Talos release. */
  ownImage?: boolean | undefined;
  /** Kubernetes release in the machine's configuration. */
  kubernetes?: string | undefined;
  /** Version of the loaded NVIDIA driver; null if none is loaded. */
  loadedDriver?: string | null | undefined;
  /** Whether the machine is one of several members of etcd. */
  hasPeers?: boolean | undefined;
  /** Releases that the Image Factory lists. */
  listed?: readonly string[] | undefined;
}

/** The intermediate releases (hops) of an upgrade, and the reason if one update cannot make this upgrade. */
export interface UpgradePath {
  /**
   * Intermediate releases, oldest first: the last patch release of each minor between the running and the wanted one.
   */
  intermediateReleases: string[];
  /** Reason why one update cannot upgrade the machine through these releases; undefined if no reason is known. */
  fault?: FindingText;
}

/**
 * Number of minor releases from one release to another; negative if the second is older. A step from one major to the
 * next counts as 1000 minors.
 */
export function minorsBetween(from: string, to: string): number {
  const [a, b] = [semver.parse(from)!, semver.parse(to)!];
  return a.major === b.major ? b.minor - a.minor : (b.major - a.major) * 1000;
}

/** The releases of an upgrade in one line, e.g. `v1.11.5 → v1.12.12 → v1.13.9`. */
export const wayText = (running: string, hops: readonly string[], target: string): string =>
  [running, ...hops, target].join(" → ");

/**
 * Greatest number of hops (intermediate releases) of an upgrade to a release. A machine on the oldest minor in the
 * tables has a hop for each later minor before the wanted one.
 */
export const mostIntermediateReleases = (target: string): number =>
  Math.max(
    0,
    minorRows.filter(({ minor }) => minor < (parseTalosVersion(target)?.minor ?? 0)).length - 1,
  );

/**
 * Plans the upgrade of a machine from one release to another. Talos tests only upgrades between adjacent minors, and
 * recommends the last patch release of each (siderolabs/docs, upgrading-talos, "Supported upgrade paths"). Talos does
 * not compare a machine's new release with those of the other machines (talos, cmd/installer/pkg/install/preflight.go).
 * But etcd supports only members at most one minor apart.
 */
export function upgradePath(running: string, target: string, basis: HopBasis = {}): UpgradePath {
  if (semver.lt(target, running))
    return {
      intermediateReleases: [],
      fault: {
        problem: `the machine runs ${running}, newer than the wanted ${target}`,
        why: "Talos does not support downgrades: the machine's state may have a newer format",
        remedy: `set talosVersion to ${running} or newer`,
      },
    };
  const count = minorsBetween(running, target);
  if (count <= 1) return { intermediateReleases: [] };
  const { major, minor: first } = semver.parse(running)!;
  const unknown = (problem: string): UpgradePath => ({
    intermediateReleases: [],
    fault: {
      problem: `the upgrade from ${running} to ${target} ${problem}`,
      why: "Talos supports upgrades by one minor at a time, because each minor migrates the machine's state",
      remedy: `upgrade to the last v${major}.${first + 1} release first`,
    },
  });
  if (count >= 1000) return unknown("changes the major release");
  const hops: string[] = [];
  for (const minor of range(first + 1, first + count)) {
    const hop = lastOf(minor, basis.listed);
    if (hop === undefined)
      return unknown(
        `crosses ${count} minor releases, but no release of ${major}.${minor} is known`,
      );
    hops.push(hop);
  }
  const obstacle = obstacleOn(running, hops, target, basis);
  if (obstacle === undefined) return { intermediateReleases: hops };
  const steps = [...hops, target];
  return {
    intermediateReleases: hops,
    fault: {
      problem: `the upgrade from ${running} to ${target} goes over ${hops.join(" and ")}, but ${obstacle.problem}`,
      why: obstacle.why,
      remedy:
        obstacle.remedy ??
        `make ${steps.length} updates: set talosVersion to ${steps.map((step, index) => `${step}${index === 0 ? " first" : ""}`).join(", then to ")}`,
    },
  };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

/**
 * The last patch release of a minor in the Factory's list. Without this list: the last patch release in the tables
 * whose row is not inferred. Undefined for a minor that the tables lack.
 */
function lastOf(minor: number, listed: readonly string[] | undefined): string | undefined {
  if (!minorRows.some((row) => row.minor === minor)) return undefined;
  if (listed === undefined) {
    const row = driverRows.findLast(
      (driverRow) => driverRow.minor === minor && !driverRow.inferred,
    );
    return row && `v1.${minor}.${row.to}`;
  }
  return listed
    .map(parseTalosVersion)
    .filter((version) => version?.minor === minor && !version.prerelease)
    .sort((a, b) => a!.patch - b!.patch)
    .at(-1)?.text;
}

/**
 * Reason against an upgrade over several minors. If `remedy` is absent, the remedy is a separate update for each
 * release.
 */
interface HopObstacle {
  problem: string;
  why: string;
  remedy?: string;
}

function obstacleOn(
  running: string,
  hops: readonly string[],
  target: string,
  basis: HopBasis,
): HopObstacle | undefined {
  // siderolabs/omni, controllers/omni/internal/talos/versions.go: Omni accepts every release that Talos' installer
  // accepts from the running one.
  if (basis.byOmni)
    return {
      problem: "Omni upgrades in one step, without the releases in between",
      why: "Talos tests only upgrades between adjacent minor releases",
    };
  if (basis.ownImage)
    return {
      problem: "the stack sets installerImage, and this image contains only one release",
      why: "the package cannot make such an image for the releases in between",
    };
  return (
    etcdObstacle(running, target, basis) ??
    kubernetesObstacle([...hops, target], basis) ??
    hops
      .map((hop) => extensionObstacle(hop, basis) ?? driverObstacle(hop, target, basis))
      .find(Boolean)
  );
}

const etcdMinor = (talosVersion: string): number =>
  etcd.rows.findLast(({ from }) => from <= (parseTalosVersion(talosVersion)?.minor ?? 0))?.minor ??
  etcd.rows[0]!.minor;

/**
 * Obstacle for control planes: the update upgrades one of them after another to the wanted release. Meanwhile, some
 * members of etcd have the version of the running release, and others the version of the wanted release.
 */
function etcdObstacle(
  running: string,
  target: string,
  { hasPeers }: HopBasis,
): HopObstacle | undefined {
  const [from, to] = [etcdMinor(running), etcdMinor(target)];
  if (!hasPeers || to - from <= 1) return undefined;
  return {
    problem: `etcd would go from 3.${from} to 3.${to} on one control plane while the others run 3.${from}`,
    why: "etcd supports members at most one minor apart, so all control planes must run the same etcd minor before one of them gets the next",
  };
}

function kubernetesObstacle(
  releases: readonly string[],
  { kubernetes }: HopBasis,
): HopObstacle | undefined {
  const version = semver.coerce(kubernetes ?? "");
  if (version === null) return undefined;
  const unsupportedRelease = releases.find((release) => {
    const kubernetesRange = findRelease(release)?.minor.kubernetes;
    return (
      kubernetesRange !== undefined &&
      (version.minor < kubernetesRange.from || kubernetesRange.to < version.minor)
    );
  });
  if (unsupportedRelease === undefined) return undefined;
  const ranges = releases.flatMap((release) => findRelease(release)?.minor.kubernetes ?? []);
  const [from, to] = [
    Math.max(...ranges.map((kubernetesRange) => kubernetesRange.from)),
    Math.min(...ranges.map((kubernetesRange) => kubernetesRange.to)),
  ];
  const problem = `Kubernetes ${version.major}.${version.minor} does not run on ${unsupportedRelease}`;
  const why =
    "Talos refuses the configuration, or starts a kubelet that was not tested with this Talos release";
  if (from > to) return { problem, why };
  const fittingReleases = from === to ? `of 1.${from}` : `from 1.${from} to 1.${to}`;
  return {
    problem,
    why,
    remedy: `in this update, set kubernetesVersion to a release ${fittingReleases}, which all these Talos releases support`,
  };
}

/**
 * Obstacle: an intermediate release lacks an extension. The function ignores extensions that the tables do not list:
 * only the Image Factory knows them.
 */
function extensionObstacle(hop: string, { extensions = [] }: HopBasis): HopObstacle | undefined {
  const { minor } = parseTalosVersion(hop)!;
  const missing = extensions.filter(
    (name) => minorsWith(name).length > 0 && !extensionsOf(minor).has(name),
  );
  if (missing.length === 0) return undefined;
  return {
    problem: `${hop} has no extension ${missing.join(", ")}`,
    why: "the Image Factory cannot make an image of that release with all extensions",
  };
}

/**
 * Obstacle: the driver of an intermediate release may not support the cards. NVIDIA adds cards with one branch and
 * drops them with a later one, so a branch between the loaded and the wanted branch supports them.
 */
function driverObstacle(
  hop: string,
  target: string,
  { extensions = [], loadedDriver }: HopBasis,
): HopObstacle | undefined {
  const [wantedDriver, hopDriver] = [driverOf(target, extensions), driverOf(hop, extensions)];
  if (wantedDriver === undefined || hopDriver === undefined || loadedDriver === undefined)
    return undefined;
  if (loadedDriver === null)
    return {
      problem: `no NVIDIA driver is loaded on the machine, so it is unknown whether the driver ${hopDriver} in Talos ${hop} supports the cards`,
      why: `with a driver that does not support the cards, the machine would not finish its boot of ${hop}`,
    };
  const [loadedMajor, hopMajor, wantedMajor] = [
    majorOf(loadedDriver),
    majorOf(hopDriver),
    majorOf(wantedDriver),
  ];
  if (
    Math.min(loadedMajor, wantedMajor) <= hopMajor &&
    hopMajor <= Math.max(loadedMajor, wantedMajor)
  )
    return undefined;
  return {
    problem: `the driver ${hopDriver} in Talos ${hop} is not between the loaded driver ${loadedDriver} and the wanted driver ${wantedDriver}`,
    why: `this driver may not support the cards, and the machine would then not finish its boot of ${hop}`,
  };
}

/**
 * Version of NVIDIA's driver in an image with these extensions; undefined if the image has no NVIDIA kernel modules, or
 * if the release is unknown.
 */
export function driverOf(talosVersion: string, extensions: readonly string[]): string | undefined {
  const branch = extensions
    .map(nvidiaExtension)
    .find((extension) => extension?.kind === "modules")?.branch;
  return branch && findRelease(talosVersion)?.drivers[branch];
}
