import { spawn } from "node:child_process";
import * as readline from "node:readline";

/** A program to start, and how to watch it. */
export interface GuardOptions {
  /** Name of the child in messages, e.g. `control plane`. */
  name: string;
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  onLog?: (line: string) => void;
  /** Receives every line of its standard output after the first. */
  onLine?: (line: string) => void;
  /** Milliseconds until its first line must have come. Default: 120,000. */
  startLimit?: number;
  /** Milliseconds between the request to stop and the kill. Default: 10,000. */
  stopLimit?: number;
}

/** A child process that is ready, and ends when we do. */
export interface Guarded<Ready> {
  pid: number;
  /** The JSON object of the first line on its standard output. */
  ready: Ready;
  write(text: string): void;
  /** Resolves when the process has ended, for whatever reason. Never rejects. */
  ended: Promise<void>;
  /**
   * Closes its standard input and sends SIGTERM, SIGKILL after the limit. Resolves when it is gone; may be called
   * again.
   */
  stop(): Promise<void>;
}

/** Lines of standard error that an error message quotes. */
const TAIL_LINES = 40;

/**
 * Starts a child that reports its readiness as one JSON line on standard output, and waits for that line. Its
 * standard input is a pipe that stays open: the kernel closes it when this process goes, in whichever way, and a
 * child that ends with its input is never left behind. It runs in a process group of its own, so that Ctrl-C reaches
 * us alone and children are stopped in order.
 *
 * Its standard input is a pipe that stays open: the kernel closes it when this process ends in any way. So a child
 * that ends with its input is never left behind. It runs in a process group of its own, so that Ctrl-C reaches us
 * alone and children are stopped in order.
 *
 * @throws when it cannot be started, ends before it is ready, says something else, or takes too long; the message has
 * the end of its standard error. It is gone by then.
 */
export async function spawnGuarded<Ready>(
  command: string,
  args: readonly string[],
  {
    name,
    env = process.env,
    signal,
    onLog,
    onLine,
    startLimit = 120_000,
    stopLimit = 10_000,
  }: GuardOptions,
): Promise<Guarded<Ready>> {
  signal?.throwIfAborted();
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  // A child that is already gone makes writing to its input an error; its exit is what counts.
  child.stdin.on("error", () => {});
  const tail: string[] = [];
  readline.createInterface({ input: child.stderr }).on("line", (line) => {
    if (tail.push(line) > TAIL_LINES) tail.shift();
    onLog?.(line);
  });
  let end: string | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => resolve(void (end = `cannot be started (${error.message})`)));
    child.once("close", (code, by) =>
      resolve(void (end ??= `ended (${by ?? `exit status ${code}`})`)),
    );
  });
  const stop = async (): Promise<void> => {
    child.stdin.end();
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), stopLimit);
    await ended;
    clearTimeout(kill);
  };
  const abort = (): void => void stop();
  signal?.addEventListener("abort", abort, { once: true });
  void ended.then(() => signal?.removeEventListener("abort", abort));

  const first = new Promise<string>((resolve) => {
    let take = (line: string): void => {
      take = onLine ?? (() => {});
      resolve(line);
    };
    readline.createInterface({ input: child.stdout }).on("line", (line) => take(line));
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, startLimit)));
  const line = await Promise.race([first, late, ended]);
  clearTimeout(timer);
  const ready = typeof line === "string" ? parse<Ready>(line) : undefined;
  if (ready !== undefined && signal?.aborted !== true)
    return { pid: child.pid!, ready, write: (text) => void child.stdin.write(text), ended, stop };
  const what =
    typeof line === "string"
      ? `its first line is not JSON: ${JSON.stringify(line)}`
      : (end ?? `not ready after ${startLimit / 1000} s`);
  await stop();
  signal?.throwIfAborted();
  throw new Error(
    `${name}: ${what}, and nothing runs without it; see that ${command} is the program that is meant and may be run, and its last words:\n${tail.join("\n") || "(it said nothing)"}`,
  );
}

function parse<T>(line: string): T | undefined {
  try {
    return JSON.parse(line) as T;
  } catch {
    return undefined;
  }
}
