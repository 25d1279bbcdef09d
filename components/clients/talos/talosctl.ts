import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { formatDuration } from "../../recipe/rules/duration";
import { CallError, type CallErrorKind } from "../failure";
import { redact } from "../../recipe/rules/redact";
import type { Ending } from "../machine";

/** Lines of the program's standard error that an error quotes. */
const QUOTED_LINES = 6;

/** How talosctl is called. */
export interface TalosctlOptions {
  binary: string;
  /** Name of the program in messages, e.g. `omnictl` for Omni's client. Default `talosctl`. */
  name?: string;
  /** Path of the talosconfig; undefined lets talosctl find one. */
  talosconfig: string | undefined;
  /** Address to connect to instead of the talosconfig's endpoints, e.g. of a tunnel. Default: these endpoints. */
  endpoint?: string | undefined;
  /** Further variables of its environment. Default none. */
  environment?: Readonly<Record<string, string>>;
  /** Values that no message may hold. */
  secrets: readonly string[];
  /** Milliseconds that any call has at most, whatever limit it is given. Default: its limit. */
  most?: number;
  /** How the program is started and ended. Default: as a child, ended by its id. */
  processes?: Processes;
}

/** Starts and ends programs. */
export interface Processes {
  start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  end(child: ChildProcess): void;
}

const asChild: Processes = { start: spawn, end: (child) => void child.kill("SIGKILL") };

/**
 * Runs talosctl. The only place that does: arguments as a list, no shell, no secret among them, each call with a
 * limit.
 */
export class Talosctl {
  private readonly children = new Set<ChildProcess>();
  private release?: Promise<string>;

  constructor(private readonly options: TalosctlOptions) {}

  /**
   * Runs one command and returns its standard output.
   *
   * @param atMost milliseconds after which it is ended, and counts as unreachable.
   * @param ending when it is ended before that, which counts as unreachable too.
   * @throws CallError with the end of its standard error, free of secrets.
   */
  run(args: readonly string[], atMost: number, ending?: Ending): Promise<string> {
    const { name = "talosctl", binary, talosconfig, endpoint, environment, secrets } = this.options;
    const { most = atMost, processes = asChild } = this.options;
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
    /** Milliseconds after which it was ended. */
    let cutAfter: number | undefined;
    const cut = (after: number): void => {
      if (!this.children.has(child)) return;
      cutAfter = after;
      processes.end(child);
      // Whatever it started may still hold its output open; nothing waits for that.
      child.stdout!.destroy();
      child.stderr!.destroy();
    };
    const limit = Math.min(most, atMost);
    const timer = setTimeout(cut, limit, limit);
    let looks = 0;
    let isLooking = false;
    const look = async ({ every, ends }: Ending): Promise<void> => {
      const after = ++looks * every;
      if (isLooking) return;
      isLooking = true;
      if (await ends()) cut(after);
      isLooking = false;
    };
    const looking = ending && setInterval(() => void look(ending), ending.every);
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
        const fail = (problem: CallErrorKind, what: string): void =>
          reject(new CallError(problem, `${name} ${args[0] ?? ""} ${what}${quote(text)}`));
        if (cutAfter !== undefined)
          fail("unreachable", `did not end within ${formatDuration(inSeconds(cutAfter))}`);
        else if (code === 0) resolve(Buffer.concat(output).toString());
        else fail(classify(text), `failed (${signal ?? `exit ${code!}`})`);
      });
    }).finally(() => {
      clearTimeout(timer);
      clearInterval(looking);
      this.children.delete(child);
    });
  }

  /** Release of the program, e.g. `v1.13.0`; asked once. */
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

/** The remaining time of a limit is no whole number of seconds; nothing reads the fraction. */
const inSeconds = (milliseconds: number): number =>
  milliseconds < 1_000 ? milliseconds : Math.round(milliseconds / 1_000) * 1_000;

function startProblem(name: string, binary: string, error: NodeJS.ErrnoException): string {
  const lacks = binary === name ? "is in no folder of PATH" : `${binary} is not there`;
  return error.code === "ENOENT"
    ? `${name}: ${lacks}; the machine cannot be reached without it; install ${name === "talosctl" ? "talosctl of the machine's minor release" : `${name} of your server's release`}, or name it by TALOS_GPU_${name.toUpperCase()}`
    : `${name}: ${binary} does not start: ${error.message}`;
}

/**
 * Text that Talos prints before the differences of two configurations (talos v1.13.0
 * internal/app/machined/pkg/runtime/v1alpha1/ v1alpha1_runtime.go, CanApplyImmediate): their lines may be secret, and
 * say nothing of the failure.
 */
const withoutDiff = (text: string): string => text.split(/\n[^\S\n]*diff:/, 1)[0]!;

function quote(text: string): string {
  const lines = text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("WARNING:"));
  return lines.length === 0 ? "" : `: ${lines.slice(-QUOTED_LINES).join("\n").trim()}`;
}

/**
 * Reads gRPC's code out of what talosctl says. Certificates come first: a failed handshake is reported as
 * `Unavailable` too, but waiting does not help. The exception is a clock that is not set yet after a boot.
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
