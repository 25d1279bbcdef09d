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
 * Compiles a bundle. Each call of the result evaluates the bundle again and gives its exports: no module of it keeps
 * state from an earlier call.
 *
 * @param file a CommonJS file, absolute
 * @returns evaluates the bundle
 */
export function compile(file: string): () => unknown;
