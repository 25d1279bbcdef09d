import * as fs from "node:fs";
import * as path from "node:path";

/** Path of the first program with a name on PATH; undefined if there is none. */
export function programOnPath(
  name: string,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const folders = (env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => path.resolve(folder, name)).find(isProgram);
}

/** Whether a file is executable. */
export function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
