import { createHash } from "node:crypto";

/**
 * Beginning of a text's SHA-256, for names and annotations that follow from a content.
 *
 * @param digits hexadecimal ones.
 */
export const shortHash = (text: string, digits: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, digits);
