import { parseDuration } from "../recipe/rules/duration";
import type { TimeoutsSpec } from "../recipe/spec/index";

/** Limits of the waits in the cluster, in seconds. */
export interface ClusterLimits {
  release: number;
  gate: number;
  workload: number;
}

/** The limits of a stack in the cluster, its defaults (as `TimeoutsSpec` states them) filled in. */
export function clusterLimits(timeouts: TimeoutsSpec = {}): ClusterLimits {
  return {
    release: seconds(timeouts.release ?? "10m", "timeouts.release"),
    gate: seconds(timeouts.gate ?? "10m", "timeouts.gate"),
    workload: seconds(timeouts.workload ?? "20m", "timeouts.workload"),
  };
}

function seconds(duration: string, field: string): number {
  return Math.ceil(parseDuration(duration, field) / 1000);
}

/**
 * Pulumi's limit for a resource that has a limit of its own: a minute more, so that the resource's own, better worded
 * failure comes first.
 *
 * @param limit Seconds.
 */
export function outlasting(limit: number): { create: string; update: string; delete: string } {
  const timeout = `${limit + 60}s`;
  return { create: timeout, update: timeout, delete: timeout };
}
