import * as path from "node:path";
import { hasLineOf, lineIn, lineOfText } from "../lines";

/** The source file of a patch. It contains the patch itself, or the content of a file that the patch writes. */
export interface PatchFile {
  file: string;
  text: string;
}

/** Files that contain patches. */
interface Files {
  /** Files that contain only one patch, by the patch's text. */
  patchFiles: Map<string, PatchFile>;
  /** Files that contain patches and other things. */
  inputFiles: PatchFile[];
}

/**
 * Returns the place of a patch, e.g. `talos/gpu.yaml:18`: the line with most of the given words. Undefined if the patch
 * is not the text of a file.
 */
export type PlaceOf = (patch: string, words: string) => string | undefined;

/** Makes the function that finds a patch's place in the imported files. File names are relative to the working folder. */
export const placesIn =
  ({ patchFiles, inputFiles }: Files): PlaceOf =>
  (patch, words) => {
    const source = patchFiles.get(patch) ?? inputFiles.find(({ text }) => hasLineOf(text, patch));
    if (source === undefined) return undefined;
    const file = path.relative(process.cwd(), source.file);
    const hasOwnFile = patchFiles.has(patch);
    const line = hasOwnFile ? 1 : lineOfText(source.text, patch);
    return `${file}:${lineIn({ file, line, text: hasOwnFile ? source.text : patch }, words)}`;
  };
