/** The machine of `upgrade.first`. */
export const ahead = "worker-05";

/** The machine that fails later. */
export const failing = "worker-03";

/** How many workers the cluster has. */
export const workers = 12;

/** How the stack upgrades them. */
export const upgrade = { first: [ahead], maxParallel: "25%" };
