import { createHash } from "node:crypto";

/**
 * First digits of a text's SHA-256, for names and annotations that must change if the text changes.
 *
 * @param digits number of hexadecimal digits.
 */
export const shortHash = (text: string, digits: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, digits);
