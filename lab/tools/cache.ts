import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import { buildFlags } from "./catalogue";
import type { ToolDefinition } from "./definition";
import type { Toolchain } from "./definition";

/** Versions of one tool that are kept: the one in use, and some for other branches and checkouts. */
const KEPT = 12;
/** Milliseconds after which a build that did not finish never will: a day. */
const ABANDONED = 86_400_000;

/** Where built tools are kept: `talos-gpu/tools` in the user's cache folder (XDG Base Directory Specification). */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CACHE_HOME;
  // The specification says that a relative path is to be ignored.
  const root = base !== undefined && path.isAbsolute(base) ? base : path.join(env.HOME ?? os.homedir(), ".cache");
  return path.join(root, "talos-gpu", "tools");
}

/** A short hash of everything that decides what a build gives: sources and pins, flags, toolchain, platform. */
export async function cacheKey(tool: ToolDefinition, toolchain: Toolchain): Promise<string> {
  const hash = createHash("sha256");
  // As JSON, so that no two lists read the same.
  hash.update(JSON.stringify([tool.name, tool.package, buildFlags(tool), toolchain]));
  for (const file of await sources(tool.folder)) {
    const content = await fs.readFile(path.join(tool.folder, file));
    hash.update(JSON.stringify([file, content.length]));
    hash.update(content);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Where the tool's binary is, or goes. */
export function cachedPath(cache: string, tool: ToolDefinition, key: string): string {
  return path.join(cache, `${tool.name}-${key}`, tool.name);
}

/** Where this process lets Go write a tool before it is complete: in the cache's file system, in nobody's way. */
export function unfinishedPath(cache: string, tool: ToolDefinition): string {
  return path.join(cache, `.${tool.name}-${process.pid}.unfinished`);
}

/** Whether a binary is in the cache. Asking marks it as used. */
export async function isCached(binary: string): Promise<boolean> {
  const now = new Date();
  return fs.utimes(path.dirname(binary), now, now).then(
    () =>
      fs.access(binary, fs.constants.X_OK).then(
        () => true,
        () => false,
      ),
    () => false,
  );
}

/**
 * Removes the versions of a tool that were not used for longest, and what killed builds left. A program that runs from one
 * is not disturbed.
 */
export async function forgetOldVersions(cache: string, tool: ToolDefinition): Promise<void> {
  const version = new RegExp(`^${tool.name}-[0-9a-f]{16}$`);
  const unfinished = new RegExp(`^\\.${tool.name}-\\d+\\.unfinished$`);
  const entries = await fs.readdir(cache);
  for (const name of entries.filter((entry) => unfinished.test(entry))) {
    const file = path.join(cache, name);
    const written = await fs.stat(file).then(
      (stat) => stat.mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - written > ABANDONED) await fs.rm(file, { recursive: true, force: true });
  }
  const names = entries.filter((name) => version.test(name));
  const folders = await Promise.all(
    names.map(async (name) => {
      const folder = path.join(cache, name);
      return {
        folder,
        used: await fs.stat(folder).then(
          (stat) => stat.mtimeMs,
          () => 0,
        ),
      };
    }),
  );
  folders.sort((a, b) => b.used - a.used);
  for (const { folder } of folders.slice(KEPT)) {
    await fs.rm(folder, { recursive: true, force: true });
    await fs.rm(`${folder}.log`, { force: true });
  }
}

/**
 * What a build reads, relative to the folder and sorted: Go files, the pins, and anything they may embed. Tests,
 * TypeScript beside them and prose change nothing.
 */
async function sources(folder: string): Promise<string[]> {
  const found: string[] = [];
  async function walk(relative: string): Promise<void> {
    for (const entry of await fs.readdir(path.join(folder, relative), { withFileTypes: true })) {
      if (entry.name.startsWith(".") || entry.name === "testdata" || entry.name === "node_modules") continue;
      const name = path.posix.join(relative, entry.name);
      if (entry.isDirectory()) await walk(name);
      else if (!/(_test\.go|\.ts|\.md)$/.test(entry.name)) found.push(name);
    }
  }
  await walk("");
  return found.sort();
}
