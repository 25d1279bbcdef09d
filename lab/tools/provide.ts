import * as path from "node:path";

import { build } from "./builders/build";
import { cacheFolder, cacheKey, forgetKilled, forgetOldVersions, isCached } from "./cache";
import type { ToolDefinition } from "./definition";
import type { OnToolEvent, ToolEvent } from "./events";
import { askSums, download, type Sums, systemTimer, type Timer } from "./builders/download";
import { toolchainFor } from "./builders/go";
import { withLock } from "./lock";
import {
  type Published,
  publishedKey,
  publishedOf,
  releaseSite,
  type Site,
} from "./builders/release";

/** Options for providing tools. */
export interface ProvideOptions {
  /**
   * Environment with the cache folder, Go's settings and the address of releases. Default: this process' environment.
   */
  env?: NodeJS.ProcessEnv;
  onEvent?: OnToolEvent;
  signal?: AbortSignal;
  /** Ends downloads that take too long. Default: the real time. */
  timer?: Timer;
}

/**
 * Provides tools: from the cache, by a download, or by a build. It looks for all tools first. So a caller learns at
 * once about everything that is missing, such as Go. Published tools are downloaded while the others are built. A
 * tool whose download fails is built, too.
 */
export async function provide(
  tools: readonly ToolDefinition[],
  options: ProvideOptions = {},
): Promise<Record<string, string>> {
  const stop = new AbortController();
  const signal =
    options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const makings = await Promise.all(tools.map((tool) => locate(tool, { ...options, signal })));
  const paths: Record<string, string> = {};
  const missing: Making[] = [];
  for (const making of makings) {
    if (making.found === undefined) missing.push(making);
    else paths[making.name] = making.found;
  }
  const downloads = await startDownloads(missing, { ...options, signal });
  try {
    for (const making of missing)
      if (!downloads.has(making)) paths[making.name] = await making.build();
    for (const [making, downloaded] of downloads)
      paths[making.name] = (await downloaded) ?? (await making.build());
  } finally {
    stop.abort();
    await Promise.allSettled(downloads.values());
  }
  return paths;
}

/** A way to provide a tool. */
interface Making {
  name: string;
  /** Its path, if it exists. */
  found?: string;
  published?: Published & { site: Site };
  /** Gives its path; undefined if it cannot be downloaded. */
  download(sums: Sums): Promise<string | undefined>;
  build(): Promise<string>;
}

/**
 * Starts downloads of all published tools with known sums, all at once. If no server answers, it soon reports that in
 * one line.
 *
 * @returns the future path of each tool; undefined if the download fails
 */
async function startDownloads(
  missing: readonly Making[],
  { onEvent, signal, timer = systemTimer }: ProvideOptions,
): Promise<Map<Making, Promise<string | undefined>>> {
  const refused: [string, string][] = [];
  const asked = missing.map(async (making): Promise<[Making, Sums] | undefined> => {
    if (making.published === undefined) return undefined;
    const { site } = making.published;
    try {
      return [making, await askSums(making.published, { site, timer, ...(signal && { signal }) })];
    } catch (error) {
      refused.push([making.name, (error as Error).message]);
      return undefined;
    }
  });
  const answered = (await Promise.all(asked)).filter((each) => each !== undefined);
  signal?.throwIfAborted();
  if (refused.length > 0) {
    const names = missing
      .map(({ name }) => name)
      .filter((name) => refused.some(([each]) => each === name));
    const detail = [...new Set(refused.map(([, why]) => why))].sort().join("; ");
    onEvent?.({ tool: names.join(", "), state: "refused", detail });
  }
  return new Map(
    answered.map(([making, sums]) => {
      const downloaded = making.download(sums);
      downloaded.catch(() => undefined); // the download may fail before anyone waits for it
      return [making, downloaded];
    }),
  );
}

/** Looks for a tool, and gives the functions that make it. */
async function locate(tool: ToolDefinition, options: ProvideOptions): Promise<Making> {
  const { env = process.env, onEvent, timer = systemTimer, ...signal } = options;
  const { name } = tool;
  const tell = (state: ToolEvent["state"], detail: string, seconds?: number): void =>
    onEvent?.({ tool: name, state, detail, ...(seconds === undefined ? {} : { seconds }) });
  const failed = (error: unknown): never => {
    tell("failed", error instanceof Error ? error.message : String(error));
    throw error;
  };
  const platform = await toolchainFor(tool, env).catch(failed);
  const cache = cacheFolder(env);
  const site = releaseSite(env);
  const published = site === undefined ? undefined : await publishedOf(tool, platform);
  const binaryOf = (key: string): string => path.join(cache, `${name}-${key}`, name);
  const built = binaryOf(await cacheKey(tool, platform));
  const downloaded = published && binaryOf(publishedKey(published));

  /** Makes a binary unless it exists; another process may have made it meanwhile. */
  const once = async (
    binary: string,
    doing: ToolEvent["state"],
    make: () => Promise<void>,
  ): Promise<string> => {
    const folder = path.dirname(binary);
    const work = async (): Promise<string> => {
      if (await isCached(binary)) tell("cached", binary);
      else {
        await forgetKilled(folder);
        await make();
        await forgetOldVersions(cache, name);
      }
      return binary;
    };
    const verb = doing === "building" ? "builds" : "downloads";
    const onWait = (pid: number): void =>
      tell(doing, `waiting for process ${pid}, which ${verb} it`);
    return withLock(`${folder}.lock`, work, { onWait, ...signal });
  };
  const making: Making = {
    name,
    ...(published && site ? { published: { ...published, site } } : {}),
    download: (sums) =>
      once(downloaded!, "downloading", async () => {
        const hosts = published!.files.map(({ address }) => new URL(site!(address)).host);
        tell("downloading", `from ${[...new Set(hosts)].join(", ")}`, 0);
        tell(
          "downloaded",
          downloaded!,
          await download(published!, sums, downloaded!, { site: site!, timer, ...signal }),
        );
      }).catch((error: unknown) => {
        signal.signal?.throwIfAborted();
        tell("refused", (error as Error).message);
        return undefined;
      }),
    build: () =>
      once(built, "building", async () => {
        tell("building", "from source", 0);
        const onProgress = (packages: number, seconds: number): void =>
          tell("building", `${packages.toLocaleString("en")} packages compiled`, seconds);
        tell("built", built, await build(tool, built, { env, onProgress, ...signal }));
      }).catch(failed),
  };
  for (const binary of downloaded === undefined ? [built] : [built, downloaded])
    if (await isCached(binary)) {
      tell("cached", binary);
      return { ...making, found: binary };
    }
  return making;
}
