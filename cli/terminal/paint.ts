import { styleText } from "node:util";

/** A style by its name in `node:util`, e.g. `red`. */
export type Style = Parameters<typeof styleText>[0];

/** Gives a text a style, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

/** Paints where colours are wanted. Node's own look at the stream stays out: the caller has looked. */
export const painter = (colour: boolean): Paint =>
  colour ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
