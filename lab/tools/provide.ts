import * as path from "node:path";

import { build } from "./builders/build";
import { cacheFolder, cacheKey, forgetKilled, forgetOldVersions, isCached } from "./cache";
import type { ToolDefinition } from "./definition";
import type { OnToolEvent, ToolEvent } from "./events";
import { downloadSums, download, type Sums, systemTimer, type Timer } from "./builders/download";
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
  const sources = await Promise.all(tools.map((tool) => locate(tool, { ...options, signal })));
  const paths: Record<string, string> = {};
  const missing: ToolSource[] = [];
  for (const source of sources) {
    if (source.existingPath === undefined) missing.push(source);
    else paths[source.name] = source.existingPath;
  }
  const downloads = await startDownloads(missing, { ...options, signal });
  try {
    for (const source of missing)
      if (!downloads.has(source)) paths[source.name] = await source.build();
    for (const [source, downloaded] of downloads)
      paths[source.name] = (await downloaded) ?? (await source.build());
  } finally {
    stop.abort();
    await Promise.allSettled(downloads.values());
  }
  return paths;
}

/** A way to provide a tool. */
interface ToolSource {
  name: string;
  /** Its path, if it exists. */
  existingPath?: string;
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
  missing: readonly ToolSource[],
  { onEvent, signal, timer = systemTimer }: ProvideOptions,
): Promise<Map<ToolSource, Promise<string | undefined>>> {
  const refused: { name: string; reason: string }[] = [];
  const lookups = missing.map(async (source): Promise<[ToolSource, Sums] | undefined> => {
    if (source.published === undefined) return undefined;
    const { site } = source.published;
    try {
      const options = { site, timer, ...(signal && { signal }) };
      return [source, await downloadSums(source.published, options)];
    } catch (error) {
      refused.push({ name: source.name, reason: (error as Error).message });
      return undefined;
    }
  });
  const downloadable = (await Promise.all(lookups)).filter((lookup) => lookup !== undefined);
  signal?.throwIfAborted();
  if (refused.length > 0) {
    const names = missing
      .map(({ name }) => name)
      .filter((name) => refused.some((refusal) => refusal.name === name));
    const detail = [...new Set(refused.map(({ reason }) => reason))].sort().join("; ");
    onEvent?.({ tool: names.join(", "), state: "refused", detail });
  }
  return new Map(
    downloadable.map(([source, sums]) => {
      const downloaded = source.download(sums);
      downloaded.catch(() => undefined); // the download may fail before anyone waits for it
      return [source, downloaded];
    }),
  );
}

/** Looks for a tool, and gives the functions that make it. */
async function locate(tool: ToolDefinition, options: ProvideOptions): Promise<ToolSource> {
  const { env = process.env, onEvent, timer = systemTimer, ...cancellation } = options;
  const { name } = tool;
  const report = (state: ToolEvent["state"], detail: string, seconds?: number): void =>
    onEvent?.({ tool: name, state, detail, ...(seconds === undefined ? {} : { seconds }) });
  const reportFailure = (error: unknown): never => {
    report("failed", error instanceof Error ? error.message : String(error));
    throw error;
  };
  const platform = await toolchainFor(tool, env).catch(reportFailure);
  const cache = cacheFolder(env);
  const site = releaseSite(env);
  const published = site === undefined ? undefined : await publishedOf(tool, platform);
  const binaryOf = (key: string): string => path.join(cache, `${name}-${key}`, name);
  const builtBinary = binaryOf(await cacheKey(tool, platform));
  const downloadedBinary = published && binaryOf(publishedKey(published));

  /** Makes a binary unless it exists; another process may have made it meanwhile. */
  const makeOnce = async (
    binary: string,
    activity: ToolEvent["state"],
    make: () => Promise<void>,
  ): Promise<string> => {
    const folder = path.dirname(binary);
    const work = async (): Promise<string> => {
      if (await isCached(binary)) report("cached", binary);
      else {
        await forgetKilled(folder);
        await make();
        await forgetOldVersions(cache, name);
      }
      return binary;
    };
    const verb = activity === "building" ? "builds" : "downloads";
    const onWait = (pid: number): void =>
      report(activity, `waiting for process ${pid}, which ${verb} it`);
    return withLock(`${folder}.lock`, work, { onWait, ...cancellation });
  };
  const source: ToolSource = {
    name,
    ...(published && site ? { published: { ...published, site } } : {}),
    download: (sums) =>
      makeOnce(downloadedBinary!, "downloading", async () => {
        const hosts = published!.files.map(({ address }) => new URL(site!(address)).host);
        report("downloading", `from ${[...new Set(hosts)].join(", ")}`, 0);
        const options = { site: site!, timer, ...cancellation };
        const seconds = await download(published!, sums, downloadedBinary!, options);
        report("downloaded", downloadedBinary!, seconds);
      }).catch((error: unknown) => {
        cancellation.signal?.throwIfAborted();
        report("refused", (error as Error).message);
        return undefined;
      }),
    build: () =>
      makeOnce(builtBinary, "building", async () => {
        report("building", "from source", 0);
        const onProgress = (packages: number, seconds: number): void =>
          report("building", `${packages.toLocaleString("en")} packages compiled`, seconds);
        const seconds = await build(tool, builtBinary, { env, onProgress, ...cancellation });
        report("built", builtBinary, seconds);
      }).catch(reportFailure),
  };
  const binaries = downloadedBinary === undefined ? [builtBinary] : [builtBinary, downloadedBinary];
  for (const binary of binaries)
    if (await isCached(binary)) {
      report("cached", binary);
      return { ...source, existingPath: binary };
    }
  return source;
}
