import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { provideTools } from "../../lab/tools";

/**
 * The real talosctl for the tests of a file, and a folder that is removed after them. Both are set once the tests
 * run.
 */
export function withTalosctl(): { talosctl: string; folder: string } {
  const tools = { talosctl: "", folder: "" };
  beforeAll(async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-talosctl-"));
    Object.assign(tools, { folder }, await provideTools({ only: ["talosctl"] }));
  });
  afterAll(() => fs.rmSync(tools.folder, { recursive: true, force: true }));
  return tools;
}
