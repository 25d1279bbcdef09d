/** The machine of `upgrade.first`. */
export const ahead = "worker-05";

/** The machine that fails later. */
export const failing = "worker-03";

/** Number of workers in the cluster. */
export const workers = 12;

/** The stack's `upgrade` field. */
export const upgrade = { first: [ahead], maxParallel: "25%" };
