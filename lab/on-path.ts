import * as fs from "node:fs";
import * as path from "node:path";

/** The first program of a name on PATH; undefined where there is none. */
export function programOnPath(
  name: string,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const folders = (env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => path.resolve(folder, name)).find(isProgram);
}

/** Whether a file can be run. */
export function isProgram(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
