import * as fs from "node:fs";
import * as path from "node:path";

/** Selection of the files of a folder. */
export interface FileScope {
  /** How many levels of subfolders are read (default: all), and the names of folders that are skipped. */
  depth?: number;
  skippedFolders: RegExp;
  /** Names of the files. Default `*.yaml` and `*.yml`. */
  names?: RegExp;
  /** Largest number of files, and largest size in bytes. Default: no limit. */
  maxFiles: number;
  maxBytes?: number;
}

/**
 * YAML files of a folder; its own files come before those of its subfolders. A folder that cannot be read counts as
 * empty.
 */
export function yamlFiles(folder: string, scope: FileScope): string[] {
  const {
    depth = Infinity,
    skippedFolders: passedOver,
    names = /\.ya?ml$/,
    maxFiles,
    maxBytes: largest = Infinity,
  } = scope;
  const files: string[] = [];
  let folders = [folder];
  for (let level = 0; level <= depth && folders.length > 0 && files.length < maxFiles; level++) {
    const inner: string[] = [];
    for (const currentFolder of folders)
      for (const entry of entriesOf(currentFolder)) {
        const file = path.join(currentFolder, entry.name);
        if (entry.isDirectory() && !passedOver.test(entry.name)) inner.push(file);
        if (entry.isFile() && names.test(entry.name)) files.push(file);
      }
    folders = inner;
  }
  const limitedFiles = files.slice(0, maxFiles);
  return largest === Infinity
    ? limitedFiles
    : limitedFiles.filter((file) => fs.statSync(file).size <= largest);
}

function entriesOf(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
