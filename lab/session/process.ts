import { spawn } from "node:child_process";
import * as readline from "node:readline";

/** How a child process ended. */
export interface Ended {
  /** Exit status, or null when a signal ended it. */
  code: number | null;
  /** The signal that ended it, or null. */
  signal: NodeJS.Signals | null;
  /** Whether `stop` was asked for before. A child that ends otherwise has failed. */
  wanted: boolean;
  /** The last lines of its standard error. */
  tail: string;
}

/** What to start and how to look after it. */
export interface GuardOptions {
  /** What messages call the child, e.g. `control plane`. */
  name: string;
  /** Its working directory. Default: ours. */
  cwd?: string;
  /** Its environment. Default: ours. */
  env?: NodeJS.ProcessEnv;
  /** Stops the child, whether it is ready or not. */
  signal?: AbortSignal;
  /** Receives every line of its standard error. */
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
  /** Process id. */
  pid: number;
  /** The JSON object of the first line on its standard output. */
  ready: Ready;
  /** Writes to its standard input. */
  write(text: string): void;
  /** Resolves when the process has ended, for whatever reason. Never rejects. */
  ended: Promise<Ended>;
  /** Closes its standard input and sends SIGTERM, SIGKILL after the limit. Resolves when it is gone; may be called again. */
  stop(): Promise<void>;
}

/** Lines of standard error that an error message quotes. */
const TAIL_LINES = 40;

/**
 * Starts a child that reports its readiness as one JSON line on standard output, and waits for that line.
 *
 * Its standard input is a pipe that stays open: the kernel closes it when this process goes, in whichever way, and a child
 * that ends at the end of its input is then never left behind. It runs in a process group of its own, so that Ctrl-C
 * reaches us alone and children are stopped in order.
 *
 * @throws when it cannot be started, ends before it is ready, says something else, or takes too long; the message has the
 * end of its standard error. It is gone by then.
 */
export async function spawnGuarded<Ready>(
  command: string,
  args: readonly string[],
  options: GuardOptions,
): Promise<Guarded<Ready>> {
  options.signal?.throwIfAborted();
  const child = spawn(command, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: options.env ?? process.env,
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  // A child that is already gone makes writing to its input an error; its exit is what counts.
  child.stdin.on("error", () => {});

  const tail: string[] = [];
  readline.createInterface({ input: child.stderr }).on("line", (line) => {
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    options.onLog?.(line);
  });

  let wanted = false;
  let failure: Error | undefined;
  const ended = new Promise<Ended>((resolve) => {
    child.on("error", (error) => {
      failure = error;
      // "exit" does not come for a process that never was.
      if (child.pid === undefined) resolve({ code: null, signal: null, wanted, tail: "" });
    });
    child.on("close", (code, signal) => resolve({ code, signal, wanted, tail: tail.join("\n") }));
  });

  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= endChild());
  async function endChild(): Promise<void> {
    wanted = true;
    child.stdin.end();
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), options.stopLimit ?? 10_000);
    await ended;
    clearTimeout(kill);
  }

  const abort = (): void => void stop();
  options.signal?.addEventListener("abort", abort, { once: true });
  void ended.then(() => options.signal?.removeEventListener("abort", abort));

  const firstLine = new Promise<string>((resolve) => {
    let seen = false;
    readline.createInterface({ input: child.stdout }).on("line", (line) => {
      if (seen) return options.onLine?.(line);
      seen = true;
      resolve(line);
    });
  });

  const limit = options.startLimit ?? 120_000;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), limit)));
  const outcome = await Promise.race([firstLine, tooLate, ended]);
  clearTimeout(timer);
  if (options.signal?.aborted === true) {
    await stop();
    throw options.signal.reason;
  }

  if (typeof outcome === "object") {
    if (failure !== undefined) {
      throw new Error(
        `${options.name}: ${command} cannot be started (${failure.message}), and nothing runs without it; ` +
          "see that the file exists and may be executed",
        { cause: failure },
      );
    }
    throw new Error(
      `${options.name}: ended (${describe(outcome)}) before it was ready, and nothing runs without it; ` +
        `its last words say what to mend:\n${outcome.tail || "(it said nothing)"}`,
    );
  }
  if (outcome === "late") {
    await stop();
    throw new Error(
      `${options.name}: not ready after ${limit / 1000} s, and what waits for it cannot go on; ` +
        `see whether the machine is overloaded, and its last words:\n${tail.join("\n") || "(it said nothing)"}`,
    );
  }
  const ready = parse<Ready>(outcome);
  if (ready === undefined || child.pid === undefined) {
    await stop();
    throw new Error(
      `${options.name}: its first line is not JSON, so its address is unknown: ${JSON.stringify(outcome)}; ` +
        `see that ${command} is the program that is meant`,
    );
  }
  return { pid: child.pid, ready, write: (text) => void child.stdin.write(text), ended, stop };
}

/** In words, how a process ended. */
export function describe(ended: Pick<Ended, "code" | "signal">): string {
  return ended.signal === null ? `exit status ${ended.code}` : `signal ${ended.signal}`;
}

function parse<T>(line: string): T | undefined {
  try {
    return JSON.parse(line) as T;
  } catch {
    return undefined;
  }
}
