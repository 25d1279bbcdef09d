/**
 * The code of a bundle. Evaluated, it gives its exports; each time as if no module of it had been there before.
 *
 * @param file a CommonJS file, absolute
 * @returns evaluates it
 */
export function compile(file: string): () => unknown;
