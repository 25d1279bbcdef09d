import { existsSync, realpathSync } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { bundle } from "../bundle/bundle";

/**
 * Provides a language host for Node that Pulumi's CLI finds on PATH. Pulumi's own host is only in Pulumi's releases,
 * not in a package registry. If it is next to the CLI, it is used; otherwise the lab's replacement is put into a
 * folder.
 *
 * @param pulumi the CLI
 * @returns the folder with the host, which must come first on PATH.
 */
export async function installLanguageHost(folder: string, pulumi: string): Promise<string> {
  const cliFolder = path.dirname(realpathSync(pulumi));
  return existsSync(path.join(cliFolder, "pulumi-language-nodejs"))
    ? cliFolder
    : installStandInHost(folder);
}

/**
 * Puts a stand-in for Pulumi's language host for Node into a folder. It has the same protocol, and starts the SDK's
 * `cmd/run` and `cmd/run-plugin` in the same way; these run the program.
 *
 * @returns the folder
 */
export async function installStandInHost(folder: string): Promise<string> {
  const program = await bundle(path.join(__dirname, "main.ts"));
  await fs.mkdir(folder, { recursive: true });
  // Runs this process' Node, since PATH may have a different one, or none.
  const [node, host] = [process.execPath, program].map(
    (text) => `'${text.replaceAll("'", `'\\''`)}'`,
  );
  const launcher = `#!/bin/sh\nexec ${node} ${host} "$@"\n`;
  await fs.writeFile(path.join(folder, "pulumi-language-nodejs"), launcher, { mode: 0o755 });
  return folder;
}
