import * as path from "node:path";

import { build } from "./ways/build";
import { cacheFolder, cacheKey, forgetOldVersions, isCached } from "./cache";
import type { ToolDefinition } from "./definition";
import type { OnToolEvent, ToolEvent } from "./events";
import { toolchainFor } from "./ways/go";
import { withLock } from "./lock";

/** How tools are provided. */
export interface ProvideOptions {
  /** Default: ours. The cache folder and Go's settings come from here. */
  env?: NodeJS.ProcessEnv;
  onEvent?: OnToolEvent;
  signal?: AbortSignal;
}

/**
 * Provides tools: from the cache, or built. All are looked for before the first is built,
 * so that a caller finds out about everything that is missing (no Go, for one) before the first minute is spent.
 */
export async function provide(
  tools: readonly ToolDefinition[],
  options: ProvideOptions = {},
): Promise<Record<string, string>> {
  const located = await Promise.all(tools.map(async (tool) => ({ tool, found: await locate(tool, options) })));
  const paths: Record<string, string> = {};
  for (const { tool, found } of located) paths[tool.name] = typeof found === "string" ? found : await found();
  return paths;
}

/** The path of a tool that is there, or what makes it. */
async function locate(tool: ToolDefinition, options: ProvideOptions): Promise<string | (() => Promise<string>)> {
  const { env = process.env, onEvent, ...signal } = options;
  const tell = (state: ToolEvent["state"], detail: string, seconds?: number): void =>
    onEvent?.({ tool: tool.name, state, detail, ...(seconds === undefined ? {} : { seconds }) });
  const failed = (error: unknown): never => {
    tell("failed", error instanceof Error ? error.message : String(error));
    throw error;
  };
  const platform = await toolchainFor(tool, env).catch(failed);
  const cache = cacheFolder(env);
  const folder = path.join(cache, `${tool.name}-${await cacheKey(tool, platform)}`);
  const binary = path.join(folder, tool.name);
  const cached = async (): Promise<boolean> => {
    const there = await isCached(binary);
    if (there) tell("cached", binary);
    return there;
  };
  if (await cached()) return binary;
  const work = async (): Promise<string> => {
    if (await cached()) return binary; // another process has made it meanwhile
    tell("building", "from source", 0);
    const onProgress = (packages: number, seconds: number): void =>
      tell("building", `${packages.toLocaleString("en")} packages compiled`, seconds);
    tell("built", binary, await build(tool, binary, { env, onProgress, ...signal }));
    await forgetOldVersions(cache, tool.name);
    return binary;
  };
  const onWait = (pid: number): void => tell("building", `waiting for process ${pid}, which builds it`);
  return () => withLock(`${folder}.lock`, work, { onWait, ...signal }).catch(failed);
}
