import { type ChildProcess, spawn } from "node:child_process";

const graceMilliseconds = 5_000; // cmd.WaitDelay in main.go

/** How a child is started. */
export interface Start {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  onStdout(chunk: Buffer): void;
  onStderr(chunk: Buffer): void;
}

/** The programs and plugins that run; none outlives its host. */
const running = new Set<ChildProcess>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/**
 * Runs a Node program to its end.
 *
 * @param signal interrupts it, and kills it when it goes on for five seconds.
 * @returns its exit status; 128 where a signal ended it.
 * @throws Error when it cannot be started.
 */
export async function run(start: Start, signal?: AbortSignal): Promise<number> {
  const { args, cwd, env } = start;
  const child = spawn(process.execPath, [...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.stdout.on("data", (chunk: Buffer) => start.onStdout(chunk));
  child.stderr.on("data", (chunk: Buffer) => start.onStderr(chunk));
  signal?.addEventListener("abort", () => interrupt(child), { once: true });
  if (signal?.aborted) interrupt(child);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? 128));
    });
  } finally {
    running.delete(child);
  }
}

function interrupt(child: ChildProcess): void {
  child.kill("SIGINT");
  setTimeout(() => child.kill("SIGKILL"), graceMilliseconds).unref();
}

/** Interrupts all of them, as the engine asks when an update is cancelled. */
export const interruptAll = (): void => running.forEach(interrupt);

/** Ends all of them at once. */
export const stopAll = (): void => running.forEach((child) => void child.kill("SIGTERM"));
