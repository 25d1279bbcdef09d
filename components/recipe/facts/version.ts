import * as semver from "semver";
import { remembering } from "../memory";

/** The parts of a Talos release. */
export interface TalosVersion {
  /** With the leading `v`, as image references spell it. */
  text: string;
  minor: number;
  patch: number;
  prerelease: boolean;
}

/**
 * Parses a Talos release, e.g. `v1.12.6`; undefined if the text is not a release of Talos 1. The `v` may be missing.
 */
export const parseTalosVersion = remembering(
  (text: string): TalosVersion | undefined => {
    const version = semver.parse(text);
    if (!version || version.major !== 1) return undefined;
    return {
      text: `v${version.version}`,
      minor: version.minor,
      patch: version.patch,
      prerelease: version.prerelease.length > 0,
    };
  },
  (text) => text,
);

/**
 * Compares dotted numbers of any length, e.g. drivers `580.65.06` and `580.126.20`. The result is negative if `left` is
 * lower, zero if both are equal, and positive if `left` is higher.
 */
export function compareDotted(left: string, right: string): number {
  const a = left.split(".").map(Number);
  const b = right.split(".").map(Number);
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The least of some dotted numbers; undefined if there are none. */
export const leastDotted = (values: string[]): string | undefined =>
  [...values].sort(compareDotted)[0];

/** First part of a dotted number, e.g. the branch of a driver or the major of CUDA. */
export const majorOf = (dotted: string): number => Number(dotted.split(".")[0]);
