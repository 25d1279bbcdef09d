import * as fs from "node:fs";
import * as path from "node:path";

/**
 * Folder of this package; the same from the sources and from what is compiled of them.
 *
 * @throws Error when its package.json is missing.
 */
export function packageRoot(folder: string = __dirname): string {
  if (fs.existsSync(path.join(folder, "package.json"))) return realpath(folder);
  const parent = path.dirname(folder);
  if (parent === folder)
    throw new Error(
      "talos-gpu: its package.json is missing; its programs cannot be found; install the package again",
    );
  return packageRoot(parent);
}

/** A path with its symbolic links resolved; as it is where there is nothing. */
export const realpath = (file: string): string =>
  fs.existsSync(file) ? fs.realpathSync(file) : file;
