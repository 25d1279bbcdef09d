import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import type { Changes, Modules } from "../definition";
import { goEnvironment } from "./go";

/** Milliseconds that the download of a module may take. */
const DOWNLOAD_LIMIT = 300_000;

/** Writes the files of the Go module in which a tool is built. Its folder may also contain sources of the tool. */
export async function writeModule(
  folder: string,
  { require, replace = [], sums = [] }: Modules,
  { name = "talos-gpu/lab/tool", go }: { name?: string; go: string },
): Promise<void> {
  const directives = (keyword: string, values: readonly string[]): string[] =>
    values.map((value) => `${keyword} ${value}`);
  const goMod = [
    `module ${name}`,
    `go ${go}`,
    ...directives("require", require),
    ...directives("replace", replace),
  ];
  await fs.mkdir(folder, { recursive: true });
  await fs.writeFile(path.join(folder, "go.mod"), goMod.map((line) => `${line}\n`).join(""));
  await fs.writeFile(path.join(folder, "go.sum"), sums.map((line) => `${line}\n`).join(""));
}

/**
 * The folder of a module in Go's module cache. Downloads the module if the cache lacks it.
 *
 * @param module `PATH VERSION`
 * @param folder where Go runs; its `go.sum` may list the module
 * @throws Error with Go's reason
 */
export async function moduleFolder(
  module: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const name = module.replace(" ", "@");
  const options = { cwd: folder, env: goEnvironment(env), timeout: DOWNLOAD_LIMIT };
  const output = await promisify(execFile)("go", ["mod", "download", "-json", name], options).catch(
    (error: Error & { code?: unknown; stdout?: string }) => {
      if (error.code === "ENOENT") throw new Error(`${name}: there is no \`go\` on PATH`);
      if (!error.stdout?.startsWith("{"))
        throw new Error(`${name}: ${error.message}`, { cause: error });
      return { stdout: error.stdout }; // with -json, Go reports a failed download on standard output
    },
  );
  const { Dir, Error: failure } = JSON.parse(output.stdout) as { Dir: string; Error?: string };
  if (failure !== undefined) throw new Error(`${name}: ${failure}`);
  return Dir;
}

/**
 * Copies a module from Go's module cache, whose files Go protects, and changes the copy.
 *
 * @param source the module's folder in the cache
 * @param copy folder of the copy, which this function makes
 * @returns the `replace` of a go.mod with which Go uses the copy
 * @throws Error if an edit's text is missing: then the module is not the release for which the edits were written
 */
export async function changedModule(
  source: string,
  {
    module,
    edits,
    without: removedFiles,
    made: generatedFiles,
    written: replacedFiles = {},
  }: Changes,
  copy: string,
): Promise<string> {
  await copyFolder(source, copy);
  for (const file of removedFiles) await fs.rm(path.join(copy, file));
  for (const [file, sourceFile] of Object.entries(generatedFiles))
    await fs.copyFile(path.join(copy, sourceFile), path.join(copy, file));
  for (const [file, content] of Object.entries(replacedFiles))
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

/** Copies a folder's files as writable files, since Go's module cache is read-only. */
export async function copyFolder(sourceFolder: string, targetFolder: string): Promise<void> {
  await fs.mkdir(targetFolder, { recursive: true });
  for (const entry of await fs.readdir(sourceFolder, { withFileTypes: true })) {
    const [source, target] = [
      path.join(sourceFolder, entry.name),
      path.join(targetFolder, entry.name),
    ];
    if (entry.isDirectory()) await copyFolder(source, target);
    else await fs.writeFile(target, await fs.readFile(source));
  }
}
