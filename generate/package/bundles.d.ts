/** A program of the package: a file of `bin`, without `.js`. */
export type Program = "program" | "cluster-objects" | "cli";

/**
 * Bundles programs of the package.
 *
 * @param outdir folder that they go to, absolute
 * @param names of those to make. Default all.
 */
export function bundle(outdir: string, names?: readonly Program[]): void;
