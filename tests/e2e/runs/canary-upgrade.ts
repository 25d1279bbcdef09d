/** The machine of `upgrade.first`. */
export const firstMachine = "worker-05";

/** The machine that fails later. */
export const failingMachine = "worker-03";

/** Number of workers in the cluster. */
export const workerCount = 12;

/** The stack's `upgrade` field. */
export const upgrade = { first: [firstMachine], maxParallel: "25%" };
