import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import type { ReadableStream } from "node:stream/web";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { type Published, type PublishedFile, type Site, sumOf } from "./release";

/**
 * Milliseconds within which a server must have sent a file of sums. Without network access the build then starts
 * soon.
 */
const ANSWER_LIMIT = 5_000;
/** Milliseconds in which a server may send nothing. */
const SILENCE_LIMIT = 15_000;
/** Milliseconds for all files of a tool. A build of all tools takes twice as long on two cores. */
const DOWNLOAD_LIMIT = 300_000;

/** Calls a function after a number of milliseconds. The result cancels it. A test passes a timer of its own. */
export type Timer = (milliseconds: number, then: () => void) => () => void;

/** The real time. */
export const systemTimer: Timer = (milliseconds, then) => {
  const timeout = setTimeout(then, milliseconds);
  return () => clearTimeout(timeout);
};

/** Options of a download. */
export interface DownloadOptions {
  site: Site;
  timer: Timer;
  /** Ends a download, which then throws the signal's reason. */
  signal?: AbortSignal;
}

/** SHA-256 sums of a release's files, by their address. */
export type Sums = ReadonlyMap<string, string>;

/**
 * Downloads the sums of all files of a release. Throws an error in a few words that begin with the server or the
 * file.
 */
export async function downloadSums({ files }: Published, options: DownloadOptions): Promise<Sums> {
  const texts = new Map<string, Promise<string>>();
  for (const { sums } of files) if (!texts.has(sums)) texts.set(sums, downloadText(sums, options));
  await Promise.all(texts.values());
  const sumsByAddress = files.map(async ({ address, sums }): Promise<[string, string]> => {
    const sum = sumOf(await texts.get(sums)!, fileNameOf(address));
    if (sum === undefined)
      throw new Error(`${options.site(sums)} has no sum of ${fileNameOf(address)}`);
    return [address, sum];
  });
  return new Map(await Promise.all(sumsByAddress));
}

const downloadText = (address: string, options: DownloadOptions): Promise<string> =>
  withTimeLimit(ANSWER_LIMIT, "no answer", options, async (signal) => {
    const response = await request(options.site(address), signal);
    return response
      .text()
      .catch((error: unknown) => throwReason(options.site(address), error, signal));
  }).catch((error: unknown) => throwReason(options.site(address), error));

/**
 * Downloads the programs of a tool, compares each file with its sum, and puts them into the folder of `binary` in one
 * step. So an interrupted download leaves no incomplete tool. Throws an error in a few words.
 *
 * @returns the seconds of the download
 */
export async function download(
  { files, launcher }: Published,
  sums: Sums,
  binary: string,
  options: DownloadOptions,
): Promise<number> {
  const start = performance.now();
  const folder = path.dirname(binary);
  const draft = `${folder}.${process.pid}.unfinished`;
  await fs.rm(draft, { recursive: true, force: true });
  await fs.mkdir(draft, { recursive: true });
  try {
    await withTimeLimit(DOWNLOAD_LIMIT, "not all of it", options, async (signal) => {
      for (const file of files)
        await getPrograms(file, sums.get(file.address)!, draft, { ...options, signal });
    });
    if (launcher !== undefined)
      await fs.writeFile(path.join(draft, path.basename(binary)), launcher, { mode: 0o755 });
    await fs.rm(folder, { recursive: true, force: true });
    await fs.rename(draft, folder);
    return (performance.now() - start) / 1000;
  } finally {
    await fs.rm(draft, { recursive: true, force: true });
  }
}

/** Downloads a file and puts its programs into a folder. */
async function getPrograms(
  file: PublishedFile,
  sum: string,
  folder: string,
  options: DownloadOptions,
): Promise<void> {
  const { address, programs, within: archiveFolder } = file;
  const target = path.join(
    folder,
    archiveFolder === undefined ? programs[0]! : fileNameOf(address),
  );
  const actualSum = await save(options.site(address), target, options);
  if (actualSum !== sum)
    throw new Error(
      `${options.site(address)} has the SHA-256 sum ${actualSum}, and its project says ${sum}`,
    );
  if (archiveFolder !== undefined) {
    await unpack(
      target,
      programs.map((name) => path.posix.join(archiveFolder, name)),
      options.signal,
    );
    await fs.rm(target);
  }
  for (const name of programs) await fs.chmod(path.join(folder, name), 0o755);
}

/** Extracts files from an archive into the archive's folder. */
async function unpack(
  archive: string,
  members: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const folder = path.dirname(archive);
  const draft = path.join(folder, "unpacked.unfinished");
  await fs.mkdir(draft);
  // As root, tar would give the files to the owners that the archive names.
  const args = ["-xozf", archive, "-C", draft, ...members];
  await promisify(execFile)("tar", args, signal === undefined ? {} : { signal }).catch(
    (error: Error) => {
      throw new Error(`tar cannot unpack ${path.basename(archive)}: ${lastLine(error)}`);
    },
  );
  for (const name of members)
    await fs.rename(path.join(draft, name), path.join(folder, path.basename(name)));
  await fs.rm(draft, { recursive: true, force: true });
}

const lastLine = ({ message }: Error): string => message.trim().split("\n").at(-1)!;

/** Downloads an address into a file, and gives the SHA-256 sum. */
async function save(
  address: string,
  file: string,
  { timer, signal }: DownloadOptions,
): Promise<string> {
  const silence = new AbortController();
  const abortSilent = (): void =>
    silence.abort(new Error(`${hostOf(address)}: nothing more within ${SILENCE_LIMIT / 1000} s`));
  const anyAbort =
    signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  let cancel = timer(SILENCE_LIMIT, abortSilent);
  const hash = createHash("sha256");
  try {
    const response = await request(address, anyAbort);
    const hashChunks = async function* (
      chunks: AsyncIterable<Uint8Array>,
    ): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        cancel();
        cancel = timer(SILENCE_LIMIT, abortSilent);
        hash.update(chunk);
        yield chunk;
      }
    };
    const body = response.body as ReadableStream<Uint8Array>;
    await pipeline(body, hashChunks, createWriteStream(file), { signal: anyAbort });
    return hash.digest("hex");
  } catch (error) {
    return throwReason(address, error, anyAbort);
  } finally {
    cancel();
  }
}

/** Requests an address. */
async function request(address: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(address, { signal }).catch((error: unknown) =>
    throwReason(address, error, signal),
  );
  if (response.ok) return response;
  await response.body?.cancel();
  throw new DownloadError(`${hostOf(address)}: answers ${response.status}`);
}

/** An error whose message names the server. */
class DownloadError extends Error {}

/** Throws the reason for a missing answer: the signal's reason if it ended the request, else the request's error. */
function throwReason(address: string, error: unknown, signal?: AbortSignal): never {
  if (signal?.aborted) throw signal.reason;
  if (error instanceof DownloadError) throw error;
  const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  // The HTTP client's own codes say less than its messages.
  const code = cause?.code?.startsWith("UND_ERR") ? undefined : cause?.code;
  throw new DownloadError(`${hostOf(address)}: ${code ?? cause?.message ?? message}`);
}

/** Runs work until the time limit ends, or the caller's signal aborts. */
async function withTimeLimit<T>(
  limit: number,
  problem: string,
  { timer, signal }: DownloadOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const timeout = new AbortController();
  const cancel = timer(limit, () =>
    timeout.abort(new Error(`${problem} within ${limit / 1000} s`)),
  );
  const anyAbort =
    signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  try {
    return await work(anyAbort);
  } finally {
    cancel();
  }
}

const hostOf = (address: string): string => new URL(address).host;
const fileNameOf = (address: string): string => address.split("/").at(-1)!;
