import { existsSync, readdirSync, statSync } from "node:fs";
import * as path from "node:path";
import { cacheFolder } from "../tools/cache";
import { isProgram, programOnPath } from "../on-path";

/**
 * Path of a program of the lab: on PATH, else the newest in the lab's cache, which `npm run lab` fills. Tests that
 * need a missing program are skipped and report that, since a build takes minutes.
 */
export function builtTool(name: "helm" | "talosctl" | "pulumi"): string | undefined {
  const cache = cacheFolder(process.env);
  const cached = (existsSync(cache) ? readdirSync(cache) : [])
    .filter((folder) => folder.startsWith(`${name}-`))
    .map((folder) => path.join(cache, folder, name))
    .filter(isProgram)
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  return cached[0] ?? programOnPath(name);
}
