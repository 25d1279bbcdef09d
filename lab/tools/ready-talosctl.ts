import * as fs from "node:fs";
import * as path from "node:path";
import { type Guarded, spawnGuarded } from "../session/process";
import { cacheFolder } from "./cache";
import { readyTalosctlTool } from "./catalogue";
import { locate } from "./provide";

/**
 * Environment variable: the folder of a talosctl that is kept ready. A talosctl that looks at something takes 40 ms of a core, of
 * which it looks for eight; a small lab starts fifty of them, a test run ten thousand.
 */
const readyTalosctlVariable = "TALOS_GPU_READY_TALOSCTL";

/** The command lines of its processes, which come and go: one whose caller was killed ends with it. */
export const readyTalosctlProcess = /\/ready wait \//;

/**
 * Keeps a talosctl ready: processes that have loaded the same code and wait (`talosctl/ready`), and a `talosctl` in the folder that
 * hands what ends soon to one of them (`talosctl/call`), and all else to the program itself.
 *
 * @param folder where; made, and nobody else's.
 * @param talosctl the program. One on PATH may be of another release, so only the cache's is kept ready.
 * @param count how many wait; whoever finds none that does starts the program.
 * @returns what stops them; undefined where there is none to keep ready, since `npm run tools` alone builds it.
 */
export async function keepTalosctlReady(
  folder: string,
  talosctl: string,
  count: number,
  signal?: AbortSignal,
): Promise<Pick<Guarded<object>, "stop"> | undefined> {
  if (process.platform !== "linux" || !talosctl.startsWith(cacheFolder(process.env) + path.sep)) return undefined;
  const found = await locate(readyTalosctlTool, {});
  if (!("path" in found)) return undefined;
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  fs.copyFileSync(path.join(found.path, "call"), path.join(folder, "talosctl"));
  fs.symlinkSync(talosctl, path.join(folder, "real"));
  const ready = path.join(found.path, "ready");
  return spawnGuarded(ready, [folder, String(count)], {
    name: "talosctl that is kept ready",
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The path of a talosctl, or of the same one where it is kept ready: by whoever runs the tests, or in `folder`. */
export function readyOf(talosctl: string, folder = process.env[readyTalosctlVariable]): string {
  if (folder === undefined) return talosctl;
  const [ready, real] = ["talosctl", "real"].map((name) => path.join(folder, name)) as [string, string];
  return fs.existsSync(real) && fs.realpathSync(real) === fs.realpathSync(talosctl) ? ready : talosctl;
}
