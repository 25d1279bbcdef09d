import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";

import type { ToolDefinition, Toolchain } from "../definition";

/** Set to `0` where nothing is to be downloaded but sources. */
const VARIABLE = "TALOS_GPU_DOWNLOAD";
/** Milliseconds until a server must have answered: without a way there, building begins soon. */
const ANSWER_LIMIT = 10_000;
/** Milliseconds that a whole download may take: some 100 MB. */
const DOWNLOAD_LIMIT = 600_000;

/** The hosts that did not answer, in this process: one is not waited for again. */
const silent = new Set<string>();

/**
 * Downloads the published release of a tool, and puts it at `binary` in one step when its sum is the published one.
 *
 * @returns undefined when it is there; otherwise why it is not, in words: the tool is then built from source.
 */
export async function download(
  tool: ToolDefinition,
  binary: string,
  { platform, env, signal }: { platform: Pick<Toolchain, "os" | "arch">; env: NodeJS.ProcessEnv; signal?: AbortSignal },
): Promise<string | undefined> {
  const { release } = tool;
  const file = release?.file(platform);
  if (release === undefined) return "it is a program of this lab";
  if (file === undefined) return `its project publishes none for ${platform.os}/${platform.arch}`;
  if (env[VARIABLE] === "0") return `${VARIABLE}=0`;
  const { host } = new URL(release.folder);
  if (silent.has(host)) return `${host} does not answer`;
  const draft = `${path.dirname(binary)}.${process.pid}.download`;
  try {
    const sums = (await get(`${release.folder}/${release.sums(file)}`, signal)).toString("utf8");
    const wanted = sums.split("\n").map((line) => line.trim().split(/\s+\*?/));
    const sum = wanted.find(([, name]) => name === file)?.[0];
    if (sum === undefined) return `${release.sums(file)} does not list ${file}`;
    const content = await get(`${release.folder}/${file}`, signal);
    const found = createHash("sha256").update(content).digest("hex");
    if (found !== sum.toLowerCase())
      return `${file} has the SHA-256 sum ${found}, published is ${sum}: it is not taken`;
    await fs.mkdir(draft, { recursive: true });
    await fs.writeFile(path.join(draft, file), content);
    const members = release.members?.(platform);
    if (members !== undefined) await promisify(execFile)("tar", ["-xzf", file, ...members], { cwd: draft });
    const [program, ...beside] = members ?? [file];
    const folder = path.dirname(binary);
    await fs.mkdir(folder, { recursive: true });
    const put = async (from: string, to: string): Promise<void> => {
      await fs.chmod(path.join(draft, from), 0o755);
      await fs.rename(path.join(draft, from), to);
    };
    for (const each of beside) await put(each, path.join(folder, path.basename(each)));
    await put(program, binary); // last: with it the tool is there
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof Unanswered) silent.add(host);
    return (error as Error).message;
  } finally {
    await fs.rm(draft, { recursive: true, force: true });
  }
}

class Unanswered extends Error {}

async function get(url: string, signal: AbortSignal | undefined): Promise<Buffer> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  signal?.addEventListener("abort", abort, { once: true });
  let timer = setTimeout(abort, ANSWER_LIMIT);
  try {
    const response = await fetch(url, { signal: controller.signal }).catch((cause: unknown) => {
      throw new Unanswered(`${new URL(url).host} does not answer`, { cause });
    });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    clearTimeout(timer);
    timer = setTimeout(abort, DOWNLOAD_LIMIT);
    return Buffer.from(await response.arrayBuffer());
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
