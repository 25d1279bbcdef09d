import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { formatDuration } from "../../recipe/rules/duration";
import { CallError, type CallErrorKind } from "../failure";
import { redact } from "../../recipe/rules/redact";
import type { Ending } from "../machine";

/** Greatest number of lines that an error quotes from the program's standard error. */
const QUOTED_LINES = 6;

/** Options for calling talosctl. */
export interface TalosctlOptions {
  binary: string;
  /** Name of the program in messages, e.g. `omnictl` for Omni's client. Default `talosctl`. */
  name?: string;
  /** Path of the talosconfig; if undefined, talosctl finds one. */
  talosconfig: string | undefined;
  /** Address to connect to, e.g. of a tunnel. Default: the talosconfig's endpoints. */
  endpoint?: string | undefined;
  /** Additional environment variables. Default none. */
  environment?: Readonly<Record<string, string>>;
  /** Values that no message may contain. */
  secrets: readonly string[];
  /** Upper limit in milliseconds for every call. Default: the call's own limit. */
  most?: number;
  /** Functions that start and end the program. Default: `spawn` starts it, and SIGKILL ends it. */
  processes?: Processes;
}

/** Starts and ends programs. */
export interface Processes {
  start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  end(child: ChildProcess): void;
}

const asChild: Processes = { start: spawn, end: (child) => void child.kill("SIGKILL") };

/**
 * Runs talosctl or omnictl; no other code starts these programs. Passes arguments as a list, without a shell and
 * without secrets, and limits the time of each call.
 */
export class Talosctl {
  private readonly children = new Set<ChildProcess>();
  private release?: Promise<string>;

  constructor(private readonly options: TalosctlOptions) {}

  /**
   * Runs one command and returns its standard output.
   *
   * @param timeLimit milliseconds after which the command is killed; the machine then counts as unreachable.
   * @param ending condition that ends the command earlier; the machine then counts as unreachable, too.
   * @throws CallError with the last lines of the command's standard error, free of secrets.
   */
  run(args: readonly string[], timeLimit: number, ending?: Ending): Promise<string> {
    const { name = "talosctl", binary, talosconfig, endpoint, environment, secrets } = this.options;
    const { most: maxTime = timeLimit, processes = asChild } = this.options;
    const {
      TALOS_GPU_TALOSCONFIG: _talosconfig,
      TALOS_GPU_KUBECONFIG: _kubeconfig,
      ...inherited
    } = process.env;
    const child = processes.start(
      binary,
      endpoint === undefined ? args : [...args, "--endpoints", endpoint],
      {
        env: {
          ...inherited,
          ...environment,
          ...(talosconfig === undefined ? {} : { TALOSCONFIG: talosconfig }),
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.children.add(child);
    /** Milliseconds after which the command was killed. */
    let cutTime: number | undefined;
    const endEarly = (time: number): void => {
      if (!this.children.has(child)) return;
      cutTime = time;
      processes.end(child);
      // Its child processes may still have its output open; the program does not wait for them.
      child.stdout!.destroy();
      child.stderr!.destroy();
    };
    const limit = Math.min(maxTime, timeLimit);
    const timer = setTimeout(endEarly, limit, limit);
    let checkCount = 0;
    let isChecking = false;
    const checkEnding = async ({ every, ends }: Ending): Promise<void> => {
      const time = ++checkCount * every;
      if (isChecking) return;
      isChecking = true;
      if (await ends()) endEarly(time);
      isChecking = false;
    };
    const checkTimer = ending && setInterval(() => void checkEnding(ending), ending.every);
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout!.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr!.on("data", (chunk: Buffer) => errors.push(chunk));
    return new Promise<string>((resolve, reject) => {
      child.on("error", (error) =>
        reject(new CallError("refused", startProblem(name, binary, error))),
      );
      child.on("close", (code, signal) => {
        const text = withoutDiff(redact(Buffer.concat(errors).toString(), secrets));
        const fail = (problem: CallErrorKind, problemText: string): void =>
          reject(new CallError(problem, `${name} ${args[0] ?? ""} ${problemText}${quote(text)}`));
        if (cutTime !== undefined)
          fail("unreachable", `did not end within ${formatDuration(inSeconds(cutTime))}`);
        else if (code === 0) resolve(Buffer.concat(output).toString());
        else fail(classify(text), `failed (${signal ?? `exit ${code!}`})`);
      });
    }).finally(() => {
      clearTimeout(timer);
      clearInterval(checkTimer);
      this.children.delete(child);
    });
  }

  /** Version of the program, e.g. `v1.13.0`; the program runs only once to find this out. */
  version(): Promise<string> {
    this.release ??= this.run(["version", "--client", "--short"], 30_000).then(
      (text) => /\bv\d+\.\d+\.\d+\S*/.exec(text)?.[0] ?? text.trim(),
    );
    return this.release;
  }

  stop(): void {
    for (const child of this.children) (this.options.processes ?? asChild).end(child);
  }
}

/** Milliseconds rounded to whole seconds for messages. */
const inSeconds = (milliseconds: number): number =>
  milliseconds < 1_000 ? milliseconds : Math.round(milliseconds / 1_000) * 1_000;

function startProblem(name: string, binary: string, error: NodeJS.ErrnoException): string {
  const missingText = binary === name ? "is not in PATH" : `${binary} does not exist`;
  return error.code === "ENOENT"
    ? `${name}: ${missingText}; without it the program cannot reach ${name === "talosctl" ? "the machine" : "Omni"}; install ${name === "talosctl" ? "talosctl of the machine's minor release" : `${name} of your Omni server's release`}, or set TALOS_GPU_${name.toUpperCase()} to its path`
    : `${name}: ${binary} does not start: ${error.message}`;
}

/**
 * The text of an error without the diff that Talos appends to it (talos v1.13.0
 * internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go, CanApplyImmediate). The diff compares two
 * configurations, so it may contain secrets, and it does not explain the failure.
 */
const withoutDiff = (text: string): string => text.split(/\n[^\S\n]*diff:/, 1)[0]!;

function quote(text: string): string {
  const lines = text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("WARNING:"));
  return lines.length === 0 ? "" : `: ${lines.slice(-QUOTED_LINES).join("\n").trim()}`;
}

/**
 * Kinds of failures by talosctl's messages; the first match decides. Certificate errors come before `Unavailable`:
 * after a failed handshake talosctl prints both, and a retry does not help. A certificate that is not valid yet is an
 * exception: right after a boot, the machine's clock may not be set yet.
 */
const PROBLEMS: [RegExp, CallErrorKind][] = [
  [/not yet valid/i, "unreachable"],
  [/code = InvalidArgument/i, "refused"], // what follows may quote a configuration
  [/x509|tls: |code = (Unauthenticated|PermissionDenied)/i, "refused"],
  [/code = Unimplemented/i, "unimplemented"],
  [/code = (FailedPrecondition|Aborted)|\blocked\b|already in progress/i, "busy"],
  [
    /code = (Unavailable|DeadlineExceeded|Canceled)|connection (refused|reset)|i\/o timeout|no such host|deadline exceeded|no route to host|broken pipe|\bEOF\b/i,
    "unreachable",
  ],
  [/no such file or directory|code = NotFound/i, "missing"],
];

/** The kind of failure in a message of talosctl. */
export const classify = (text: string): CallErrorKind =>
  PROBLEMS.find(([pattern]) => pattern.test(text))?.[1] ?? "refused";
