import * as fs from "node:fs";
import * as path from "node:path";

/** Selection of the files of a folder. */
export interface Reach {
  /** Depth of subfolders that are read, and names of folders that are not. Default: all subfolders. */
  depth?: number;
  passedOver: RegExp;
  /** Names of the files. Default `*.yaml` and `*.yml`. */
  names?: RegExp;
  /** Largest number of files, and largest size in bytes. Default: no limit. */
  most: number;
  largest?: number;
}

/**
 * YAML files of a folder; its own files come before those of its subfolders. A folder that cannot be read counts as
 * empty.
 */
export function yamlFiles(folder: string, reach: Reach): string[] {
  const { depth = Infinity, passedOver, names = /\.ya?ml$/, most, largest = Infinity } = reach;
  const found: string[] = [];
  let folders = [folder];
  for (let level = 0; level <= depth && folders.length > 0 && found.length < most; level++) {
    const inner: string[] = [];
    for (const at of folders)
      for (const entry of entriesOf(at)) {
        const file = path.join(at, entry.name);
        if (entry.isDirectory() && !passedOver.test(entry.name)) inner.push(file);
        if (entry.isFile() && names.test(entry.name)) found.push(file);
      }
    folders = inner;
  }
  const read = found.slice(0, most);
  return largest === Infinity ? read : read.filter((file) => fs.statSync(file).size <= largest);
}

function entriesOf(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
