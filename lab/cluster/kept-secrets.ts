import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { cache, kept } from "../bundle/bundle";

const run = promisify(execFile);

/**
 * Machine secrets for emulated machines, as the real talosctl makes them, kept beside the bundles. One set serves the labs of a
 * day, since making the keys takes 1.5 s of a processor for each of them. They open nothing but emulated machines of this computer, and only its
 * user can read them.
 *
 * @param talosctl program that makes them; its path names its build
 * @param release Talos' minor release, e.g. `v1.12`
 * @returns the content of a secrets file
 */
export async function keptSecrets(talosctl: string, release: string): Promise<string> {
  const which = createHash("sha256").update(`${talosctl} ${release}`).digest("hex").slice(0, 16);
  const file = path.join(cache, `lab-secrets-${which}.yaml`);
  const made = await fs.stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  if (Date.now() - made > kept) {
    await fs.mkdir(cache, { recursive: true });
    const draft = `${file}.${randomUUID()}`; // another lab may be making the same ones
    await run(talosctl, ["gen", "secrets", "--output-file", draft, "--talos-version", release]);
    await fs.rename(draft, file);
  }
  return fs.readFile(file, "utf8");
}
