/** A program of the package: a file of `bin`, without `.js`. */
export type Program = "program" | "cluster-objects" | "cli";

/**
 * Bundles programs of the package.
 *
 * @param outdir absolute path of the output folder
 * @param names programs to bundle. Default all.
 */
export function bundle(outdir: string, names?: readonly Program[]): Promise<void>;
