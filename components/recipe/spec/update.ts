/** Order of the upgrades, how many machines are upgraded at the same time, and whether pods are evicted first. */
export interface UpgradeSpec {
  /**
   * Names of the workers to upgrade after the control planes and before all other workers, one at a time in this order.
   * Each must have a GPU. The update upgrades these workers, then installs the GPU provider, and then waits until the
   * smoke tests of these workers have passed. A smoke test that gets no free GPU within `timeouts.gate` counts as
   * failed. The update upgrades the other workers afterwards.
   *
   * The node of the last of these workers stays cordoned from its drain until its smoke test has passed. Otherwise a
   * pod that waits for a GPU could take the card before the test. With `drain: false`, on Omni, or if no other worker
   * waits, the node takes pods again right after its upgrade.
   * @default none: the update installs the GPU provider after all machines
   * @example `[gpu-1]`
   */
  first?: string[];
  /**
   * Number of workers that may be upgraded at the same time, or their share of all workers (`25%`, rounded down, at
   * least one). Control planes are always upgraded first, one at a time.
   * @default `1`
   * @example `4`
   */
  maxParallel?: any;
  /**
   * Whether the update evicts the pods of a machine before its reboot. A cluster of one node is never drained, since
   * its pods have no other node. Talos up to 1.12 itself evicts pods in an upgrade, even with `false`.
   * @default `true`
   * @example `false`
   */
  drain?: boolean;
}

/** Limits on how long an update waits for each step, as durations such as `10m` or `90s`. */
export interface TimeoutsSpec {
  /**
   * Time for a machine to pull its installer image.
   * @default `10m`
   * @example `20m`
   */
  pull?: string;
  /**
   * Time for the pods of a machine to leave it.
   * @default `5m`
   * @example `15m`
   */
  drain?: string;
  /**
   * Time for a machine to install the wanted image and reboot into it.
   * @default `30m`
   * @example `45m`
   */
  reboot?: string;
  /**
   * Time for kernel modules, driver and extension services to start after the reboot, and then for the pods of the
   * cluster's admission webhooks. If a configuration changed without a reboot, kubelet and control plane must run for a
   * fifth of this time without a failure.
   * @default `5m`
   * @example `10m`
   */
  verify?: string;
  /**
   * Time for the objects of the Helm release to become ready.
   * @default `10m`
   * @example `20m`
   */
  release?: string;
  /**
   * Time for the smoke test of a machine to pass.
   * @default `10m`
   * @example `20m`
   */
  gate?: string;
  /**
   * Time for a workload to become ready.
   * @default `20m`
   * @example `1h`
   */
  workload?: string;
}
