/** Bundles a program of this repository, by its main TypeScript file, into one JavaScript file, kept by content; see `bundle.js`. */
export function bundle(entry: string): Promise<string>;

/** A text, such as a stack trace, with positions in the sources instead of those in a bundle. */
export function inSources(text: string): string;

/** The code of a CommonJS file. Evaluated, it gives its exports; each time as if no module of it had been there before. */
export function compile(file: string): () => unknown;
