import * as fs from "node:fs/promises";
import * as path from "node:path";
import type { Changes } from "../definition";

/**
 * Copies a module out of Go's cache and changes the copy: Go does not let anybody replace a file in there.
 *
 * @param source the module's folder there
 * @param copy where the copy goes; made here
 * @returns the line of `replace` that leads Go to it
 * @throws where an edit does not fit: the module is another than the one that was read
 */
export async function changedModule(
  source: string,
  { module, edits, without, made }: Changes,
  copy: string,
): Promise<string> {
  await copyFolder(source, copy);
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
  return `${module.split(" ")[0]} => ${copy}`;
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
