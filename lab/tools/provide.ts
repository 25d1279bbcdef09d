import * as path from "node:path";

import { build } from "./ways/build";
import { cachedPath, cacheFolder, cacheKey, forgetOldVersions, isCached } from "./cache";
import type { ToolDefinition, Toolchain } from "./definition";
import type { OnToolEvent, ToolEvent } from "./events";
import { toolchainFor } from "./ways/go";
import { withLock } from "./lock";
import { findOnPath } from "./ways/on-path";
import { download } from "./ways/release";

/** How a tool is provided. */
export interface ProvideOptions {
  /** Default: ours. PATH, the cache folder and Go's settings come from here. */
  env?: NodeJS.ProcessEnv;
  onEvent?: OnToolEvent;
  signal?: AbortSignal;
  /** Versions that are taken from PATH, as a semver range, where that depends on more than the tool. Default: the catalogue's. */
  ranges?: Partial<Record<ToolDefinition["name"], string>>;
}

/** A tool that is there, or how to build it. */
export type Located = { path: string } | { build: () => Promise<string> };

/**
 * Looks for a tool on PATH and in the cache. Nothing is built yet, so that a caller finds out about everything that is
 * missing (no Go, for one) before the first minute is spent.
 */
export async function locate(wanted: ToolDefinition, options: ProvideOptions): Promise<Located> {
  const range = options.ranges?.[wanted.name];
  const tool = range === undefined || !wanted.onPath ? wanted : { ...wanted, onPath: { ...wanted.onPath, range } };
  const env = options.env ?? process.env;
  const tell = (state: ToolEvent["state"], detail: string, seconds?: number): void =>
    options.onEvent?.({ tool: tool.name, state, detail, ...(seconds === undefined ? {} : { seconds }) });
  try {
    const candidate = await findOnPath(tool, env);
    if (candidate?.fits === true) {
      tell("found", `${candidate.path} ${candidate.version}`);
      return { path: candidate.path };
    }
    const cache = cacheFolder(env);
    const toolchain = await toolchainFor(tool, env);
    const binary = cachedPath(cache, tool, await cacheKey(tool, toolchain));
    if (await isCached(binary)) {
      tell("cached", binary);
      return { path: binary };
    }
    const refused =
      candidate === undefined
        ? ""
        : `, as ${candidate.path} (${candidate.version ?? "no version"}) is not ${tool.onPath?.range}`;
    return { build: () => makeOnce(tool, binary, refused, tell, { ...options, env, toolchain }) };
  } catch (error) {
    tell("failed", error instanceof Error ? error.message : String(error));
    throw error;
  }
}

type Tell = (state: ToolEvent["state"], detail: string, seconds?: number) => void;

/** Downloads or else builds, unless another process just does: then its result is taken. */
async function makeOnce(
  tool: ToolDefinition,
  binary: string,
  reason: string,
  tell: Tell,
  options: ProvideOptions & { env: NodeJS.ProcessEnv; toolchain: Toolchain },
): Promise<string> {
  const cache = path.dirname(path.dirname(binary));
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const work = async (): Promise<string> => {
    if (await isCached(binary)) {
      tell("cached", `${binary}, built by another process meanwhile`);
      return binary;
    }
    const { env, toolchain: platform } = options;
    const missing = await download(tool, binary, { platform, env, ...signal });
    if (missing === undefined) {
      await forgetOldVersions(cache, tool);
      tell("downloaded", binary);
      return binary;
    }
    const release = tool.release === undefined ? "" : `; its release was not downloaded: ${missing}`;
    tell("building", `from source${reason}${release}`, 0);
    const onProgress = ({ packages, seconds }: { packages: number; seconds: number }): void =>
      tell("building", `${packages.toLocaleString("en")} packages compiled`, seconds);
    const seconds = await build(tool, binary, { env, onProgress, ...signal });
    await forgetOldVersions(cache, tool);
    tell("built", binary, seconds);
    return binary;
  };
  const onWait = (pid: number): void => tell("building", `waiting for process ${pid}, which builds it`);
  try {
    return await withLock(`${path.dirname(binary)}.lock`, work, { onWait, ...signal });
  } catch (error) {
    tell("failed", error instanceof Error ? error.message : String(error));
    throw error;
  }
}
