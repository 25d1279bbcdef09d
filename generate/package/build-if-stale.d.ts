/** Whether a source of the package is newer than what was built of them, in the repository at `root`. */
export function isStale(root: string): boolean;

/** Builds this repository's package where its build is stale. Standard output stays that of the caller. Ends the process if the build fails. */
export function buildIfStale(): void;
