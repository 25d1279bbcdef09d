import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { limit } from "../../session/limit";

/** A command to run, as `command:local:Command` describes it. */
export interface Run {
  /** Text handed to the interpreter as its last argument. */
  readonly command: string;
  /** Program and arguments in front of the command. Default `/bin/sh -c`. */
  readonly interpreter?: readonly string[] | undefined;
  /** Working directory, absolute. */
  readonly dir: string;
  /** The whole environment of the process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Text on standard input. Default: nothing, already at its end. */
  readonly stdin?: string | undefined;
  /** Longest time in seconds. 0: no limit, as with the real provider. */
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
  /** Gets each line of the streams that are to be logged. */
  onLine(stream: "stdout" | "stderr", line: string): void;
}

/** What a command left on its streams, without the last newline. */
export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
}

const graceMilliseconds = 5_000;

/**
 * Runs a command in a process group of its own, so that a cancelled update leaves no grandchild behind: SIGTERM to the
 * group, and SIGKILL after five seconds. Error: exit by code or signal, with both streams in the order of their arrival
 * (pulumi-command v1.2.1 provider/pkg/provider/local/commandOutputs.go).
 */
export async function run(request: Run): Promise<Outcome> {
  request.signal.throwIfAborted();
  const [program, ...args] = [...(request.interpreter?.length ? request.interpreter : ["/bin/sh", "-c"])];
  const child = spawn(program as string, [...args, request.command], {
    cwd: request.dir,
    env: request.environment,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const both: Buffer[] = [];
  const texts = [
    collect(child.stdout, "stdout", request, both),
    collect(child.stderr, "stderr", request, both),
  ] as const;
  child.stdin.on("error", () => undefined); // a command that does not read its input closes the pipe
  child.stdin.end(request.stdin ?? "");

  const stop = (): void => stopGroup(child.pid);
  const within = limit(request.timeoutSeconds > 0 ? request.timeoutSeconds * 1000 : Infinity, request.signal);
  if (within.signal.aborted) stop();
  within.signal.addEventListener("abort", stop, { once: true });
  try {
    const failure = await new Promise<string | undefined>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (code, signal) =>
        resolve(code === 0 ? undefined : code === null ? `signal: ${signal}` : `exit status ${code}`),
      );
    });
    const output = Buffer.concat(both).toString();
    const about = `running ${JSON.stringify(request.command)}:\n${output}`;
    if (request.signal.aborted) throw new Error(`cancelled ${about}`);
    if (within.over) throw new Error(`no end within ${request.timeoutSeconds} s (customTimeouts): ${about}`);
    if (failure) throw new Error(`${failure}: ${about}`);
    return { stdout: trimmed(texts[0]), stderr: trimmed(texts[1]) };
  } finally {
    within.release();
  }
}

function collect(stream: NodeJS.ReadableStream, name: "stdout" | "stderr", request: Run, both: Buffer[]): Buffer[] {
  const own: Buffer[] = [];
  const lines = new PassThrough();
  createInterface({ input: lines }).on("line", (line) => request.onLine(name, line));
  stream.on("data", (chunk: Buffer) => {
    own.push(chunk);
    both.push(chunk);
  });
  stream.pipe(lines);
  return own;
}

const trimmed = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString().replace(/\n$/, "");

function stopGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  const send = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-pid, signal);
    } catch {
      // the whole group is gone, which is what was wanted
    }
  };
  send("SIGTERM");
  setTimeout(() => send("SIGKILL"), graceMilliseconds).unref();
}
