import * as fs from "node:fs/promises";
import * as path from "node:path";
import { bundle } from "../bundle/bundle";

/**
 * Puts `pulumi-language-nodejs` into a folder, where Pulumi's CLI finds it when the folder is on PATH. It stands in for
 * Pulumi's own, which comes with Pulumi's releases and from no package registry: same protocol, same way to start the
 * SDK's `cmd/run` and `cmd/run-plugin`, which run the program.
 *
 * @param generator program `generate-sdk`: with it `pulumi package gen-sdk` works for Node, Python and Go, for each of which a
 *   host is put there that does nothing else
 * @returns the folder.
 */
export async function installLanguageHost(folder: string, generator?: string): Promise<string> {
  const program = await bundle(path.join(__dirname, "main.ts"));
  await fs.mkdir(folder, { recursive: true });
  // Of this very Node: PATH may have another one, or none.
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  for (const language of generator === undefined ? ["nodejs"] : ["nodejs", "python", "go"]) {
    const said = generator === undefined ? "" : `LANGUAGE_HOST_GENERATOR=${quoted(generator)} `;
    const launcher = `#!/bin/sh\n${said}LANGUAGE_HOST_OF=${language} exec ${quoted(process.execPath)} ${quoted(program)} "$@"\n`;
    await fs.writeFile(path.join(folder, `pulumi-language-${language}`), launcher, { mode: 0o755 });
  }
  return folder;
}
