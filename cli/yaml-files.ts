import * as fs from "node:fs";
import * as path from "node:path";

/** Which files of a folder are read. */
export interface Reach {
  /** How deep folders below it are gone into, and which are not. Default: all the way. */
  depth?: number;
  passedOver: RegExp;
  /** Their names. Default `*.yaml` and `*.yml`. */
  names?: RegExp;
  /** The most files, and the largest in bytes. Default: of any size. */
  most: number;
  largest?: number;
}

/** YAML files of a folder, those of the folder itself before those of the folders in it. A folder that cannot be read has none. */
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
