/**
 * Bundles a program of this repository into one JavaScript file, kept by content; see `bundle.js`.
 *
 * @param entry its main TypeScript file, absolute
 * @returns the JavaScript file
 */
export function bundle(entry: string): Promise<string>;

/** A text, such as a stack trace, with positions in the sources instead of those in a bundle. */
export function inSources(text: string): string;

/**
 * The code of a bundle. Evaluated, it gives its exports; each time as if no module of it had been there before.
 *
 * @param file a CommonJS file, absolute
 * @returns evaluates it
 */
export function compile(file: string): () => unknown;
