import { parseDuration } from "../recipe/rules/duration";
import type { TimeoutsSpec } from "../recipe/spec/index";

/** Time limits in seconds for a stack's objects in Kubernetes, with the defaults of `TimeoutsSpec`. */
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
 * Pulumi's time limits for a resource that has a limit itself: one minute longer, so that the resource fails first,
 * with its more precise message.
 *
 * @param limit the resource's own time limit in seconds.
 */
export function outlasting(limit: number): { create: string; update: string; delete: string } {
  const timeout = `${limit + 60}s`;
  return { create: timeout, update: timeout, delete: timeout };
}
