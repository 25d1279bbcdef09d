import * as fs from "node:fs";
import * as path from "node:path";

/**
 * Folder of this package, both for the sources and for the compiled files.
 *
 * @throws Error if its package.json is missing.
 */
export function packageRoot(folder: string = __dirname): string {
  if (fs.existsSync(path.join(folder, "package.json"))) return realpath(folder);
  const parent = path.dirname(folder);
  if (parent === folder)
    throw new Error(
      "talos-gpu: the package.json of this package is missing; without it the machine program cannot be found; install the package again",
    );
  return packageRoot(parent);
}

/** A path with its symbolic links resolved; unchanged if it does not exist. */
export const realpath = (file: string): string =>
  fs.existsSync(file) ? fs.realpathSync(file) : file;
