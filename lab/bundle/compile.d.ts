/**
 * The code of a bundle. Evaluated, it gives its exports; each time anew, as if no module of it had been there before.
 *
 * @param file a CommonJS file, absolute
 * @param kept what V8 made of it, named for its content. Default: beside a file that is.
 * @returns evaluates it
 */
export function compile(file: string, kept?: string): () => unknown;
