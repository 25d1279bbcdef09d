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

/** Facts that decide whether a machine can go over several minors. Absent facts are not checked. */
export interface HopBasis {
  /** Official extensions of the wanted image. */
  extensions?: readonly string[] | undefined;
  /** Omni upgrades it. */
  byOmni?: boolean | undefined;
  /** The image is the user's own, of one release alone. */
  ownImage?: boolean | undefined;
  /** Kubernetes release that its configuration has. */
  kubernetes?: string | undefined;
  /** NVIDIA's driver that is loaded; null: none is. */
  loadedDriver?: string | null | undefined;
  /** It is a member of etcd, next to others. */
  hasPeers?: boolean | undefined;
  /** Releases that the Image Factory lists. */
  listed?: readonly string[] | undefined;
}

/** How a machine gets from one release to another. */
export interface Way {
  /** Releases that it runs on the way, oldest first: the last patch release of each minor between. */
  hops: string[];
  /** Why it cannot go that way in one update; undefined where nothing is known against it. */
  fault?: FindingText;
}

/** Minor releases from one to another; negative when it is older. Another major counts as a thousand. */
export function minorsBetween(from: string, to: string): number {
  const [a, b] = [semver.parse(from)!, semver.parse(to)!];
  return a.major === b.major ? b.minor - a.minor : (b.major - a.major) * 1000;
}

/** The releases of a way in a line, e.g. `v1.11.5 → v1.12.12 → v1.13.9`. */
export const wayText = (running: string, hops: readonly string[], wanted: string): string =>
  [running, ...hops, wanted].join(" → ");

/**
 * Most hops of any machine that goes to a release: one for each older minor that the tables know, but for the first.
 */
export const mostHops = (wanted: string): number =>
  Math.max(
    0,
    minorRows.filter(({ minor }) => minor < (parseTalosVersion(wanted)?.minor ?? 0)).length - 1,
  );

/**
 * The way of a machine between two releases. Talos tests upgrades between adjacent minors alone, and asks for the
 * last patch release of each (siderolabs/docs, upgrading-talos, "Supported upgrade paths"). It asks nothing of the
 * other machines (talos, cmd/installer/pkg/install/preflight.go); etcd does, of control planes.
 */
export function wayBetween(running: string, wanted: string, basis: HopBasis = {}): Way {
  if (semver.lt(wanted, running))
    return {
      hops: [],
      fault: {
        problem: `the machine runs ${running}, newer than the wanted ${wanted}`,
        why: "Talos does not support downgrades: its state may be of a newer format",
        remedy: `set talosVersion to ${running} or newer`,
      },
    };
  const count = minorsBetween(running, wanted);
  if (count <= 1) return { hops: [] };
  const { major, minor: first } = semver.parse(running)!;
  const unknown = (problem: string): Way => ({
    hops: [],
    fault: {
      problem: `${running} to ${wanted} is ${problem}`,
      why: "Talos supports one minor at a time: a skipped one leaves its migrations out",
      remedy: `upgrade to the last v${major}.${first + 1} release first`,
    },
  });
  if (count >= 1000) return unknown("another major release");
  const known: string[] = [];
  for (const minor of range(first + 1, first + count)) {
    const hop = lastOf(minor, basis.listed);
    if (hop === undefined)
      return unknown(
        `${count} minor releases, and no release of ${major}.${minor} is known to go by`,
      );
    known.push(hop);
  }
  const obstacle = obstacleOn(running, known, wanted, basis);
  if (obstacle === undefined) return { hops: known };
  const steps = [...known, wanted];
  return {
    hops: known,
    fault: {
      problem: `${running} to ${wanted} goes by ${known.join(" and ")}, and ${obstacle.problem}`,
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
 * The last patch release of a minor: of those that the Factory lists, else of those that the tables know without
 * inference.
 */
function lastOf(minor: number, listed: readonly string[] | undefined): string | undefined {
  if (!minorRows.some((row) => row.minor === minor)) return undefined;
  if (listed === undefined) {
    const row = driverRows.findLast((one) => one.minor === minor && !one.inferred);
    return row && `v1.${minor}.${row.to}`;
  }
  return listed
    .map(parseTalosVersion)
    .filter((version) => version?.minor === minor && !version.prerelease)
    .sort((a, b) => a!.patch - b!.patch)
    .at(-1)?.text;
}

/** Obstacle on the way; `remedy` is set if it is not an update for each step. */
interface Obstacle {
  problem: string;
  why: string;
  remedy?: string;
}

function obstacleOn(
  running: string,
  hops: readonly string[],
  wanted: string,
  basis: HopBasis,
): Obstacle | undefined {
  // siderolabs/omni, controllers/omni/internal/talos/versions.go: it takes every release that Talos' installer takes
  // from the running one.
  if (basis.byOmni)
    return {
      problem: "Omni goes there in one step, without what is between",
      why: "Talos tests upgrades between adjacent minor releases alone",
    };
  if (basis.ownImage)
    return {
      problem: "the image is the stack's own (installerImage), which there is for one release",
      why: "the package makes no image of another release in its place",
    };
  return (
    etcdObstacle(running, wanted, basis) ??
    kubernetesObstacle([...hops, wanted], basis) ??
    hops
      .map((hop) => extensionObstacle(hop, basis) ?? driverObstacle(hop, wanted, basis))
      .find(Boolean)
  );
}

const etcdMinor = (talosVersion: string): number =>
  etcd.rows.findLast(({ from }) => from <= (parseTalosVersion(talosVersion)?.minor ?? 0))?.minor ??
  etcd.rows[0]!.minor;

/**
 * Control planes go one after another, each to the end: meanwhile etcd has members of the first release and of the
 * last.
 */
function etcdObstacle(
  running: string,
  wanted: string,
  { hasPeers }: HopBasis,
): Obstacle | undefined {
  const [from, to] = [etcdMinor(running), etcdMinor(wanted)];
  if (!hasPeers || to - from <= 1) return undefined;
  return {
    problem: `etcd would go from 3.${from} to 3.${to} on one control plane while the others run 3.${from}`,
    why: "etcd supports members one minor apart, so all control planes have to reach each of its minors first",
  };
}

function kubernetesObstacle(
  releases: readonly string[],
  { kubernetes }: HopBasis,
): Obstacle | undefined {
  const version = semver.coerce(kubernetes ?? "");
  if (version === null) return undefined;
  const unfit = releases.find((release) => {
    const its = findRelease(release)?.minor.kubernetes;
    return its !== undefined && (version.minor < its.from || its.to < version.minor);
  });
  if (unfit === undefined) return undefined;
  const ranges = releases.flatMap((release) => findRelease(release)?.minor.kubernetes ?? []);
  const [from, to] = [
    Math.max(...ranges.map((one) => one.from)),
    Math.min(...ranges.map((one) => one.to)),
  ];
  const problem = `Kubernetes ${version.major}.${version.minor} does not run on ${unfit}`;
  const why = "Talos refuses the configuration, or the kubelet it starts is untested there";
  if (from > to) return { problem, why };
  const fitting = from === to ? `1.${from}` : `1.${from} to 1.${to}`;
  return {
    problem,
    why,
    remedy: `have Kubernetes ${fitting} in this update, which runs on each of them`,
  };
}

/** Names that the tables know at all: of others the Factory tells. */
function extensionObstacle(hop: string, { extensions = [] }: HopBasis): Obstacle | undefined {
  const { minor } = parseTalosVersion(hop)!;
  const missing = extensions.filter(
    (name) => minorsWith(name).length > 0 && !extensionsOf(minor).has(name),
  );
  if (missing.length === 0) return undefined;
  return {
    problem: `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not there for ${hop}`,
    why: "the Image Factory makes no image of that release with it",
  };
}

/**
 * A driver between two that know the cards knows them, too: NVIDIA adds cards with one branch and drops them with a
 * later one. So the branch of a hop has to be between the loaded one and the wanted one.
 */
function driverObstacle(
  hop: string,
  wanted: string,
  { extensions = [], loadedDriver }: HopBasis,
): Obstacle | undefined {
  const [last, there] = [driverOf(wanted, extensions), driverOf(hop, extensions)];
  if (last === undefined || there === undefined || loadedDriver === undefined) return undefined;
  if (loadedDriver === null)
    return {
      problem: `no driver of NVIDIA's is loaded that ${there} of ${hop} could be compared with`,
      why: "a driver that does not know the cards would keep that boot from ending",
    };
  const [now, its, then] = [majorOf(loadedDriver), majorOf(there), majorOf(last)];
  if (Math.min(now, then) <= its && its <= Math.max(now, then)) return undefined;
  return {
    problem: `its driver ${there} there is not between the loaded ${loadedDriver} and the wanted ${last}`,
    why: "whether it knows the cards is not certain, and one that does not keeps that boot from ending",
  };
}

/** NVIDIA's driver of an image, by the extension with its modules; undefined where it has none. */
export function driverOf(talosVersion: string, extensions: readonly string[]): string | undefined {
  const branch = extensions
    .map(nvidiaExtension)
    .find((extension) => extension?.kind === "modules")?.branch;
  return branch && findRelease(talosVersion)?.drivers[branch];
}
