import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import { isAlive } from "../../components/clients/is-alive";
import { buildFlags } from "./catalogue";
import type { ToolDefinition, Toolchain } from "./definition";

/** Number of versions of one tool that the cache keeps: the current one, and some for other branches and checkouts. */
const KEPT_VERSIONS = 12;
/** Milliseconds after which an unfinished entry counts as abandoned: a day. */
const ABANDONED = 86_400_000;

/** Folder of built tools: `talos-gpu/tools` in the user's cache folder (XDG Base Directory Specification). */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CACHE_HOME;
  // The specification says that programs must ignore a relative path.
  const root =
    base !== undefined && path.isAbsolute(base)
      ? base
      : path.join(env.HOME ?? os.homedir(), ".cache");
  return path.join(root, "talos-gpu", "tools");
}

/** A short hash of everything that decides the result of a build: sources and pins, flags, toolchain, platform. */
export async function cacheKey(tool: ToolDefinition, toolchain: Toolchain): Promise<string> {
  const hash = createHash("sha256");
  // As JSON, so that two different lists never give the same text.
  hash.update(
    JSON.stringify([
      tool.name,
      tool.package,
      tool.more,
      buildFlags(tool),
      toolchain,
      tool.modules,
      tool.changes,
    ]),
  );
  const { folder } = tool;
  for (const file of folder === undefined ? [] : await sources(folder)) {
    const content = await fs.readFile(path.join(folder!, file));
    hash.update(JSON.stringify([file, content.length]));
    hash.update(content);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Whether a binary is in the cache. Asking marks it as used. */
export async function isCached(binary: string): Promise<boolean> {
  try {
    await fs.access(binary, fs.constants.X_OK);
    await fs.utimes(path.dirname(binary), new Date(), new Date());
    return true;
  } catch {
    return false;
  }
}

/**
 * Removes the least recently used entries of one name, and files of killed builds. A running program is not affected.
 * The cache keeps enough images for running labs.
 */
export async function forgetOldVersions(
  cache: string,
  entryName: string,
  keptVersions = KEPT_VERSIONS,
): Promise<void> {
  const names = await fs.readdir(cache);
  const entries: { name: string; usedAt: number }[] = [];
  for (const name of names) {
    // Another process may have renamed its unfinished entry since the folder was read.
    const stat = await fs.lstat(path.join(cache, name)).catch(() => undefined);
    if (stat !== undefined) entries.push({ name, usedAt: stat.mtimeMs });
  }
  const versionPattern = new RegExp(`^${entryName}-[0-9a-f]{16}$`);
  const versions = entries
    .filter(({ name }) => versionPattern.test(name))
    .sort((a, b) => b.usedAt - a.usedAt);
  const abandoned = entries.filter(
    ({ name, usedAt }) => name.endsWith(".unfinished") && Date.now() - usedAt > ABANDONED,
  );
  for (const { name } of [...versions.slice(keptVersions), ...abandoned])
    await fs.rm(path.join(cache, name), { recursive: true, force: true });
}

/** Removes the files that killed processes left of one version. Only the holder of the version's lock may call this. */
export async function forgetKilled(folder: string): Promise<void> {
  const prefix = `${path.basename(folder)}.`;
  for (const name of await fs.readdir(path.dirname(folder))) {
    const match = /^(\d+)\..*unfinished$/.exec(
      name.startsWith(prefix) ? name.slice(prefix.length) : "",
    );
    if (match === null || isAlive(Number(match[1]))) continue;
    await fs.rm(path.join(path.dirname(folder), name), { recursive: true, force: true });
  }
}

/**
 * Paths of a build's input files, relative to the folder and sorted: Go files, pins and files to embed. Tests,
 * TypeScript and Markdown are not among them.
 */
async function sources(folder: string): Promise<string[]> {
  const entries = await fs.readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter(
      (file) => !/(^|[/\\])(\.|testdata[/\\]|node_modules[/\\])|(_test\.go|\.ts|\.md)$/.test(file),
    )
    .sort();
}
