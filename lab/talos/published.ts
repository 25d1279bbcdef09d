import { createWriteStream } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import type { ReadableStream } from "node:stream/web";
import { pipeline } from "node:stream/promises";
import { defaultFactoryUrl, factoryAt } from "../../components/recipe/facts/factory";
import { cacheFolder } from "../tools/cache";
import { withLock } from "../tools/lock";
import { isThere } from "./debian";

/** The public Image Factory. A test may use another address. */
export const publicFactory = (): string => factoryAt(defaultFactoryUrl, process.env);

/**
 * Its names of a disk that boots into maintenance mode, and of the kernel (image-factory v1.2.0, internal/profile),
 * with the names of their files here.
 */
const assets = { "metal-amd64.qcow2": "disk.qcow2", "kernel-amd64": "vmlinuz" };

/**
 * Downloads a release's disk from the public Image Factory, for a machine with a real card. The lab's cache keeps it.
 */
export async function publishedDisk(
  release: string,
  schematic: string,
  signal: AbortSignal,
): Promise<string> {
  const folder = path.join(path.dirname(cacheFolder(process.env)), "talos", `published-${release}`);
  const download = async (): Promise<void> => {
    await fs.mkdir(folder, { recursive: true });
    for (const [asset, name] of Object.entries(assets)) {
      const file = path.join(folder, name);
      if (await isThere(file)) continue;
      const url = `${publicFactory()}/image/${schematic}/${release}/${asset}`;
      const response = await fetch(url, { signal });
      if (!response.ok)
        throw new Error(
          `--card: ${url} answered ${response.status}, so the machine has no disk: ${await response.text()}`,
        );
      await pipeline(response.body as ReadableStream, createWriteStream(`${file}.unfinished`), {
        signal,
      });
      await fs.rename(`${file}.unfinished`, file);
    }
  };
  await withLock(`${folder}.lock`, download, { signal });
  return path.join(folder, "disk.qcow2");
}
