/** How machines are brought to the wanted image. */
export interface UpgradeSpec {
  /**
   * Workers that go ahead, one at a time in this order, after the control planes. Each must have a GPU. What offers the GPUs
   * is installed after them. The other workers start once every smoke test of those ahead has passed; a test that finds no free
   * unit within `timeouts.gate` has not passed.
   * @default none: what offers the GPUs comes after all machines
   * @example `[gpu-1]`
   */
  first?: string[];
  /**
   * Workers that may be upgraded at a time, as a number or as a share of all workers (`25%`, rounded down, one at least).
   * Control planes always go one at a time, first.
   * @default `1`
   * @example `4`
   */
  maxParallel?: any;
  /**
   * Evict pods before the reboot. A cluster of one node has nowhere to go and is not drained.
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
