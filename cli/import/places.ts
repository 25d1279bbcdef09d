import * as path from "node:path";
import { hasLineOf, lineIn, lineOfText } from "../lines";

/** A file that a patch was made of, and what is in it: the patch itself, or the content of a file that the patch writes. */
export interface PatchFile {
  file: string;
  text: string;
}

/** Files in which patches stand. */
interface Files {
  /** By the text of the patch: those that hold it alone. */
  patchFiles: Map<string, PatchFile>;
  /** Those that hold patches among other things. */
  given: PatchFile[];
}

/**
 * Tells where a patch stands, e.g. `talos/gpu.yaml:18`: the line that has most of some words. Undefined if unknown, as for a patch that
 * is no text of a file.
 */
export type PlaceOf = (patch: string, words: string) => string | undefined;

/** Places in the files of a source, from the working folder. */
export const placesIn =
  ({ patchFiles, given }: Files): PlaceOf =>
  (patch, words) => {
    const from = patchFiles.get(patch) ?? given.find(({ text }) => hasLineOf(text, patch));
    if (from === undefined) return undefined;
    const file = path.relative(process.cwd(), from.file);
    const isOwn = patchFiles.has(patch);
    const line = isOwn ? 1 : lineOfText(from.text, patch);
    return `${file}:${lineIn({ file, line, text: isOwn ? from.text : patch }, words)}`;
  };
