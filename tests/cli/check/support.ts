import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { check } from "../../../cli/check/verb";
import { runVerb } from "../support";

/** Runs `talos-gpu check`. */
export const runCheck = (...argv: string[]) => runVerb("check", check, argv);

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true })));

/**
 * Writes files into a new folder, which is removed after the test.
 *
 * @param subfolders folders in it
 */
export function folderWith(files: Record<string, string>, subfolders: string[] = []): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "check-"));
  folders.push(folder);
  for (const name of subfolders) fs.mkdirSync(path.join(folder, name));
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
  return folder;
}
