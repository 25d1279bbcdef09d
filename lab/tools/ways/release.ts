import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";

import { limit } from "../../session/limit";
import type { ToolDefinition, Toolchain } from "../definition";

/** Set to `0` where nothing is to be downloaded but sources. */
const VARIABLE = "TALOS_GPU_DOWNLOAD";
/** Milliseconds that a whole download may take: some 100 MB. Without a way there, Node gives up after ten seconds. */
const DOWNLOAD_LIMIT = 600_000;

/**
 * Downloads the published release of a tool, and puts it at `binary` in one step when its sum is the published one.
 *
 * @returns undefined when it is there; otherwise why it is not, in words: the tool is then built from source.
 */
export async function download(
  { release }: ToolDefinition,
  binary: string,
  { platform, env, signal }: { platform: Pick<Toolchain, "os" | "arch">; env: NodeJS.ProcessEnv; signal?: AbortSignal },
): Promise<string | undefined> {
  if (release === undefined) return "it is a program of this lab";
  const file = release.file(platform);
  if (file === undefined) return `its project publishes none for ${platform.os}/${platform.arch}`;
  if (env[VARIABLE] === "0") return `${VARIABLE}=0`;
  const folder = path.dirname(binary);
  const draft = `${folder}.${process.pid}.unfinished`;
  const within = limit(DOWNLOAD_LIMIT, signal);
  const get = async (name: string): Promise<Buffer> => {
    const url = `${release.folder}/${name}`;
    const response = await fetch(url, { signal: within.signal }).catch((cause: unknown) => {
      throw new Error(`${new URL(url).host} does not answer`, { cause });
    });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    return Buffer.from(await response.arrayBuffer());
  };
  try {
    const sums = (await get(release.sums(file))).toString("utf8").split("\n");
    const sum = sums.map((line) => line.trim().split(/\s+\*?/)).find(([, name]) => name === file)?.[0];
    if (sum === undefined) return `${release.sums(file)} does not list ${file}`;
    const content = await get(file);
    const found = createHash("sha256").update(content).digest("hex");
    if (found !== sum.toLowerCase())
      return `${file} has the SHA-256 sum ${found}, published is ${sum}: it is not taken`;
    await fs.mkdir(draft, { recursive: true });
    await fs.writeFile(path.join(draft, file), content);
    const members = release.members?.(platform);
    if (members !== undefined) await promisify(execFile)("tar", ["-xzf", file, ...members], { cwd: draft });
    const [program, ...beside] = members ?? [file];
    await fs.mkdir(folder, { recursive: true });
    // The program comes last: with it the tool is there.
    for (const from of [...beside, program]) {
      await fs.chmod(path.join(draft, from), 0o755);
      await fs.rename(path.join(draft, from), from === program ? binary : path.join(folder, path.basename(from)));
    }
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    return (error as Error).message;
  } finally {
    within.release();
    await fs.rm(draft, { recursive: true, force: true });
  }
}
