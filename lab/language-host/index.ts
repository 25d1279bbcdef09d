import { existsSync, realpathSync } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { bundle } from "../bundle/bundle";

/**
 * Sees to it that Pulumi's CLI finds a language host for Node. Pulumi's own comes with Pulumi's releases and from no package
 * registry: where it is beside the CLI, it is the one. Elsewhere the stand-in is put into a folder.
 *
 * @param pulumi the CLI
 * @returns what PATH has to begin with: the folder that has the host.
 */
export async function installLanguageHost(folder: string, pulumi: string): Promise<string> {
  const beside = path.dirname(realpathSync(pulumi));
  return existsSync(path.join(beside, "pulumi-language-nodejs")) ? beside : standInHosts(folder, ["nodejs"]);
}

/**
 * Puts stand-ins of Pulumi's language hosts into a folder: same protocol, same way to start the SDK's `cmd/run` and
 * `cmd/run-plugin`, which run the program. Those of other languages than Node do nothing but make SDKs.
 *
 * @param generator program `generate-sdk`: with it `pulumi package gen-sdk` works
 * @returns the folder.
 */
export async function standInHosts(folder: string, languages: readonly string[], generator?: string): Promise<string> {
  const program = await bundle(path.join(__dirname, "main.ts"));
  await fs.mkdir(folder, { recursive: true });
  // Of this very Node: PATH may have another one, or none.
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  for (const language of languages) {
    const said = generator === undefined ? "" : `LANGUAGE_HOST_GENERATOR=${quoted(generator)} `;
    const launcher = `#!/bin/sh\n${said}LANGUAGE_HOST_OF=${language} exec ${quoted(process.execPath)} ${quoted(program)} "$@"\n`;
    await fs.writeFile(path.join(folder, `pulumi-language-${language}`), launcher, { mode: 0o755 });
  }
  return folder;
}
