import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import type { Changes, Modules } from "../definition";
import { goEnvironment } from "./go";

/** Milliseconds that the download of a module may take. */
const DOWNLOAD_LIMIT = 300_000;

/** Makes a folder the Go module that a tool is built in; next to it may be the tool's own sources. */
export async function writeModule(
  folder: string,
  { require, replace = [], sums = [] }: Modules,
  { name = "talos-gpu/lab/tool", go }: { name?: string; go: string },
): Promise<void> {
  const lines = (word: string, of: readonly string[]): string[] =>
    of.map((each) => `${word} ${each}`);
  const said = [
    `module ${name}`,
    `go ${go}`,
    ...lines("require", require),
    ...lines("replace", replace),
  ];
  await fs.mkdir(folder, { recursive: true });
  await fs.writeFile(path.join(folder, "go.mod"), said.map((line) => `${line}\n`).join(""));
  await fs.writeFile(path.join(folder, "go.sum"), sums.map((line) => `${line}\n`).join(""));
}

/**
 * The folder of a module in Go's own cache, downloaded where it is not there.
 *
 * @param module `PATH VERSION`
 * @param folder where Go runs; a `go.sum` there may name the module
 * @throws with Go's own reason
 */
export async function moduleFolder(
  module: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const name = module.replace(" ", "@");
  const options = { cwd: folder, env: goEnvironment(env), timeout: DOWNLOAD_LIMIT };
  const said = await promisify(execFile)("go", ["mod", "download", "-json", name], options).catch(
    (error: Error & { code?: unknown; stdout?: string }) => {
      if (error.code === "ENOENT") throw new Error(`${name}: there is no \`go\` on PATH`);
      if (!error.stdout?.startsWith("{"))
        throw new Error(`${name}: ${error.message}`, { cause: error });
      return { stdout: error.stdout }; // with -json, Go tells a failed download on standard output
    },
  );
  const { Dir, Error: failure } = JSON.parse(said.stdout) as { Dir: string; Error?: string };
  if (failure !== undefined) throw new Error(`${name}: ${failure}`);
  return Dir;
}

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
  { module, edits, without, made, written = {} }: Changes,
  copy: string,
): Promise<string> {
  await copyFolder(source, copy);
  for (const file of without) await fs.rm(path.join(copy, file));
  for (const [file, of] of Object.entries(made))
    await fs.copyFile(path.join(copy, of), path.join(copy, file));
  for (const [file, content] of Object.entries(written))
    await fs.writeFile(path.join(copy, file), content);
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
