import { spawn } from "node:child_process";
import * as readline from "node:readline";

/** Options for a child process. */
export interface ChildOptions {
  /** Name of the process in messages, e.g. `control plane`. */
  name: string;
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  onLog?: (line: string) => void;
  /** Receives every line of standard output after the first one. */
  onLine?: (line: string) => void;
  /** Milliseconds within which the first line must come. Default: 120,000. */
  startLimit?: number;
  /** Milliseconds between the request to stop and the kill. Default: 10,000. */
  stopLimit?: number;
}

/** A child process that is ready, and ends with this process. */
export interface Child<Ready> {
  pid: number;
  /** The JSON object of the first line on its standard output. */
  ready: Ready;
  write(text: string): void;
  /** Resolves when the process has ended for any reason. Never rejects. */
  ended: Promise<void>;
  /**
   * Closes its standard input and sends SIGTERM, then SIGKILL after the limit. Resolves when the process has ended. May
   * be called again.
   */
  stop(): Promise<void>;
}

/** Number of lines of standard error that an error message quotes. */
const TAIL_LINES = 40;

/**
 * Starts a child process that reports its readiness as one JSON line on standard output, and waits for that line.
 *
 * The child's standard input is a pipe, which the kernel closes when this process ends in any way. So a child that ends
 * with its input never outlives this process. The child has its own process group: Ctrl-C reaches only this process,
 * which then stops its children in order.
 *
 * @throws Error if the child cannot be started, ends before it is ready, prints another first line, or takes too long.
 * The message quotes the end of its standard error. The child has ended by then.
 */
export async function spawnChild<Ready>(
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
  }: ChildOptions,
): Promise<Child<Ready>> {
  signal?.throwIfAborted();
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"], detached: true });
  // Writing to a child that has ended is an error here; its exit is reported below.
  child.stdin.on("error", () => {});
  const tail: string[] = [];
  readline.createInterface({ input: child.stderr }).on("line", (line) => {
    if (tail.push(line) > TAIL_LINES) tail.shift();
    onLog?.(line);
  });
  let endReason: string | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) =>
      resolve(void (endReason = `cannot be started (${error.message})`)),
    );
    child.once("close", (code, signalName) =>
      resolve(void (endReason ??= `ended (${signalName ?? `exit status ${code}`})`)),
    );
  });
  const stop = async (): Promise<void> => {
    child.stdin.end();
    child.kill("SIGTERM");
    const killTimer = setTimeout(() => child.kill("SIGKILL"), stopLimit);
    await ended;
    clearTimeout(killTimer);
  };
  const abort = (): void => void stop();
  signal?.addEventListener("abort", abort, { once: true });
  void ended.then(() => signal?.removeEventListener("abort", abort));

  const firstLine = new Promise<string>((resolve) => {
    let handleLine = (line: string): void => {
      handleLine = onLine ?? (() => {});
      resolve(line);
    };
    readline.createInterface({ input: child.stdout }).on("line", (line) => handleLine(line));
  });
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<void>((resolve) => (timer = setTimeout(resolve, startLimit)));
  const line = await Promise.race([firstLine, timedOut, ended]);
  clearTimeout(timer);
  const ready = typeof line === "string" ? parse<Ready>(line) : undefined;
  if (ready !== undefined && signal?.aborted !== true)
    return { pid: child.pid!, ready, write: (text) => void child.stdin.write(text), ended, stop };
  const problem =
    typeof line === "string"
      ? `its first line is not JSON: ${JSON.stringify(line)}`
      : (endReason ?? `not ready after ${startLimit / 1000} s`);
  await stop();
  signal?.throwIfAborted();
  throw new Error(
    `${name}: ${problem}, and the lab cannot continue without it; check that ${command} is the right program and executable; its last output:\n${tail.join("\n") || "(it printed nothing)"}`,
  );
}

function parse<T>(line: string): T | undefined {
  try {
    return JSON.parse(line) as T;
  } catch {
    return undefined;
  }
}
