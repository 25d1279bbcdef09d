/** Whether a source of the package is newer than its build, in the repository at `root`. */
export function isStale(root: string): boolean;

/**
 * Builds this repository's package if its build is stale, without writing to standard output. Ends the process if the
 * build fails.
 */
export function buildIfStale(): void;
