/** How machines are brought to the wanted image. */
export interface UpgradeSpec {
  /**
   * Workers to upgrade before all others, one at a time in this order, after the control planes. Each must have a GPU. The GPU
   * Operator or device plugin is installed after them. The other workers start once the smoke tests of these workers have passed. A
   * test that gets no free GPU within `timeouts.gate` counts as failed.
   * @default none: the GPU provider comes after all machines
   * @example `[gpu-1]`
   */
  first?: string[];
  /**
   * Workers that may be upgraded at a time, as a number or as a share of all workers (`25%`, rounded down, at least one).
   * Control planes always go one at a time, first.
   * @default `1`
   * @example `4`
   */
  maxParallel?: any;
  /**
   * Evict pods before the reboot. In a cluster of one node pods have nowhere to go, so it is not drained. Talos up to
   * 1.12 evicts pods itself in an upgrade, either way.
   * @default `true`
   * @example `false`
   */
  drain?: boolean;
}

/** Limits of the waits, as durations like `10m`, `90s`. */
export interface TimeoutsSpec {
  /**
   * For a machine to pull its installer image.
   * @default `10m`
   * @example `20m`
   */
  pull?: string;
  /**
   * For the pods of a machine to leave it.
   * @default `5m`
   * @example `15m`
   */
  drain?: string;
  /**
   * For a machine to install the wanted image and reboot into it.
   * @default `30m`
   * @example `45m`
   */
  reboot?: string;
  /**
   * For modules, driver and extension services to come up after the reboot.
   * @default `5m`
   * @example `10m`
   */
  verify?: string;
  /**
   * For the objects of the Helm release to become ready.
   * @default `10m`
   * @example `20m`
   */
  release?: string;
  /**
   * For the smoke test of a machine to pass.
   * @default `10m`
   * @example `20m`
   */
  gate?: string;
  /**
   * For a workload to become ready.
   * @default `20m`
   * @example `1h`
   */
  workload?: string;
}
