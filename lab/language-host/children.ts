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
export class Children {
  private readonly running = new Set<ChildProcess>();

  constructor() {
    process.on("exit", () => this.running.forEach((child) => child.kill("SIGKILL")));
  }

  /**
   * Runs a Node program to its end.
   *
   * @param signal interrupts it, and kills it when it goes on for five seconds.
   * @returns its exit status; 128 and more where a signal ended it.
   * @throws Error when it cannot be started.
   */
  async run(start: Start, signal?: AbortSignal): Promise<number> {
    const { args, cwd, env } = start;
    const child = spawn(process.execPath, [...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    this.running.add(child);
    child.stdout.on("data", (chunk: Buffer) => start.onStdout(chunk));
    child.stderr.on("data", (chunk: Buffer) => start.onStderr(chunk));
    const interrupt = (): void => interruptThenKill(child);
    signal?.addEventListener("abort", interrupt, { once: true });
    if (signal?.aborted) interrupt();
    try {
      return await new Promise<number>((resolve, reject) => {
        child.once("error", reject);
        child.once("close", (code) => resolve(code ?? 128));
      });
    } finally {
      signal?.removeEventListener("abort", interrupt);
      this.running.delete(child);
    }
  }

  /** Interrupts all of them, as the engine asks when an update is cancelled. */
  interrupt(): void {
    for (const child of this.running) interruptThenKill(child);
  }

  /** Ends all of them at once. */
  stop(): void {
    for (const child of this.running) child.kill("SIGTERM");
  }
}

function interruptThenKill(child: ChildProcess): void {
  child.kill("SIGINT");
  setTimeout(() => child.kill("SIGKILL"), graceMilliseconds).unref();
}
