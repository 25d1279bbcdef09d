import { styleText } from "node:util";

/** A style by its name in `node:util`, e.g. `red`. */
export type Style = Parameters<typeof styleText>[0];

/** Adds a style to a text, or returns the text unchanged. */
export type Paint = (style: Style, text: string) => string;

/**
 * Returns a painter that adds colours if they are wanted. Node's own check of the stream is off, because the caller has
 * already checked the stream.
 */
export const painter = (colour: boolean): Paint =>
  colour ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
