import type { TimeoutsSpec } from "../recipe/spec";

const unitSeconds: Record<string, number> = { h: 3600, m: 60, s: 1 };

/**
 * Seconds of a duration such as `90s`, `10m` or `1h30m`: the form that Pulumi's `customTimeouts` takes, cut to the units
 * that a wait for a cluster needs.
 *
 * @throws When the text is not such a duration.
 */
export function seconds(duration: string): number {
  if (!/^(\d+[hms])+$/.test(duration)) {
    throw new RangeError(`"${duration}" is not a duration; write it like 90s, 10m or 1h30m`);
  }
  const parts = [...duration.matchAll(/(\d+)([hms])/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitSeconds[unit ?? ""] ?? 0), 0);
}

/** Limits of the waits in the cluster, in seconds. Defaults as `TimeoutsSpec` states them. */
export interface ClusterLimits {
  release: number;
  gate: number;
  workload: number;
}

/** The limits of a stack, with its defaults filled in. */
export function clusterLimits(timeouts: TimeoutsSpec = {}): ClusterLimits {
  return {
    release: seconds(timeouts.release ?? "10m"),
    gate: seconds(timeouts.gate ?? "10m"),
    workload: seconds(timeouts.workload ?? "20m"),
  };
}

/**
 * Pulumi's limit for a resource that has a limit of its own: a minute more, so that the resource's own, better worded
 * failure comes first.
 */
export function outlasting(limit: number): { create: string; update: string; delete: string } {
  const timeout = `${limit + 60}s`;
  return { create: timeout, update: timeout, delete: timeout };
}
