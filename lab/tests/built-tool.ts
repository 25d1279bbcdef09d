import { existsSync, readdirSync, statSync } from "node:fs";
import * as path from "node:path";
import { cacheFolder } from "../tools/cache";
import { isProgram, programOnPath } from "../on-path";

/**
 * A program of the lab that is already there: on PATH, else the newest in the lab's cache (`npm run lab` builds it). Tests
 * that need it are skipped, and say so, where it is not: a build takes minutes.
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
