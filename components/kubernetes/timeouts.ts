import { parseDuration } from "../recipe/rules/duration";
import type { TimeoutsSpec } from "../recipe/spec/index";

/** The limits of a stack's waits in the cluster, in seconds, with the defaults of `TimeoutsSpec`. */
export function clusterLimits({
  release = "10m",
  gate = "10m",
  workload = "20m",
}: TimeoutsSpec = {}) {
  const seconds = (text: string, field: string): number =>
    Math.ceil(parseDuration(text, `timeouts.${field}`) / 1000);
  return {
    release: seconds(release, "release"),
    gate: seconds(gate, "gate"),
    workload: seconds(workload, "workload"),
  };
}

/**
 * Pulumi's limit for a resource with its own limit: one minute more, so that the resource's own message, which says
 * more, comes first.
 *
 * @param limit Seconds.
 */
export function outlasting(limit: number): { create: string; update: string; delete: string } {
  const timeout = `${limit + 60}s`;
  return { create: timeout, update: timeout, delete: timeout };
}
