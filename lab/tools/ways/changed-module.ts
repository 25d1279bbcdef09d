import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import type { Changes } from "../definition";
import { goEnvironment } from "./go";

/** Milliseconds that the download of a module may take. */
const DOWNLOAD_LIMIT = 300_000;

/**
 * Copies a module of a tool out of Go's cache and changes the copy: Go does not let anybody replace a file in there.
 *
 * @param folder of the tool's `go.mod`, which pins the module
 * @param copy where the copy goes; made here
 * @returns arguments of `go build` that take it in the module's place
 * @throws where an edit does not fit: the module is another than the one that was read
 */
export async function changedModule(
  folder: string,
  { module, edits, without, made }: Changes,
  copy: string,
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const options = { cwd: folder, env: goEnvironment(env), timeout: DOWNLOAD_LIMIT };
  const { stdout } = await promisify(execFile)("go", ["mod", "download", "-json", module], options);
  await copyFolder((JSON.parse(stdout) as { Dir: string }).Dir, copy);
  for (const file of without) await fs.rm(path.join(copy, file));
  for (const [file, of] of Object.entries(made)) await fs.copyFile(path.join(copy, of), path.join(copy, file));
  for (const { why, file, from, to } of edits) {
    const text = await fs.readFile(path.join(copy, file), "utf8");
    const [before, after, ...more] = text.split(from);
    if (after === undefined || more.length > 0)
      throw new Error(
        `${module}: ${file} does not have once what is to be changed in it (${why}); it would be built otherwise than it was read; read the file again`,
      );
    await fs.writeFile(path.join(copy, file), `${before}${to}${after}`);
  }
  const pins = path.join(copy, "tool.mod");
  await fs.copyFile(path.join(folder, "go.sum"), path.join(copy, "tool.sum"));
  await fs.writeFile(pins, `${await fs.readFile(path.join(folder, "go.mod"), "utf8")}\nreplace ${module} => ${copy}\n`);
  return [`-modfile=${pins}`];
}

/** Copies a folder's files with rights of our own: Go keeps its modules read-only. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await fs.mkdir(to, { recursive: true });
  for (const entry of await fs.readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target);
    else await fs.writeFile(target, await fs.readFile(source));
  }
}
