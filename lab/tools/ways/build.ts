import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as readline from "node:readline";

import { unfinishedPath } from "../cache";
import { buildFlags } from "../catalogue";
import type { ToolDefinition } from "../definition";
import { ampleMemory, goEnvironment } from "./go";

/** Lines of a failed build's output that its error quotes. */
const TAIL_LINES = 20;
/** Milliseconds between two signs of life. */
const PROGRESS_INTERVAL = 500;
/** Milliseconds that Go has to clean up after itself on abort. */
const STOP_LIMIT = 5_000;

/** What a running build knows about itself. */
export interface BuildProgress {
  /** Packages compiled so far. Those that Go has cached are not among them. */
  packages: number;
  /** Since the start. */
  seconds: number;
}

/** How a build runs. */
export interface BuildOptions {
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  onProgress?: (progress: BuildProgress) => void;
}

/**
 * Builds a tool with `go build` and puts it at `binary` in one step, so that nobody sees half of it. The whole output
 * of a build that fails is kept beside its folder, as `<folder>.log`.
 *
 * @returns the seconds it took.
 * @throws with the end of the output when Go fails, or with the signal's reason on abort.
 */
export async function build(tool: ToolDefinition, binary: string, options: BuildOptions): Promise<number> {
  const folder = path.dirname(binary);
  const unfinished = unfinishedPath(path.dirname(folder), tool);
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  try {
    // Into a folder that is there, Go writes every program under its own name.
    if (tool.more) fs.mkdirSync(unfinished, { recursive: true });
    const seconds = await goBuild(tool, unfinished, `${folder}.log`, options);
    fs.mkdirSync(folder, { recursive: true });
    fs.renameSync(unfinished, binary);
    return seconds;
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true });
  }
}

async function goBuild(tool: ToolDefinition, output: string, logPath: string, options: BuildOptions): Promise<number> {
  options.signal?.throwIfAborted();
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const log = fs.createWriteStream(logPath);
  const args = ["build", "-v", ...buildFlags(tool), "-o", output, tool.package, ...(tool.more ?? [])];
  // `go build`, never `go mod download`: that fetches more than the build needs, some of which may be refused. A process
  // group of its own lets us stop the compilers it has started along with it.
  const child = spawn("go", args, {
    cwd: tool.folder,
    env: {
      ...goEnvironment(options.env),
      ...ampleMemory(options.env),
      ...(tool.c === undefined ? {} : { CGO_ENABLED: "1" }),
    },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const kill = (signal: NodeJS.Signals): void => killGroup(child.pid, signal);
  let force: NodeJS.Timeout | undefined;
  // At SIGINT, Go removes its working folder; at SIGTERM it would leave it.
  const interrupt = (): void => {
    kill("SIGINT");
    force = setTimeout(() => kill("SIGKILL"), STOP_LIMIT);
  };
  const onExit = (): void => kill("SIGINT");
  process.once("exit", onExit);
  options.signal?.addEventListener("abort", interrupt, { once: true });

  let packages = 0;
  const tail: string[] = [];
  readline.createInterface({ input: child.stderr }).on("line", (line) => {
    log.write(`${line}\n`);
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    // With -v, Go names every package that it compiles: a line without a blank or a colon.
    if (/^[^\s:]+$/.test(line)) packages += 1;
  });
  const progress = setInterval(() => options.onProgress?.({ packages, seconds: seconds() }), PROGRESS_INTERVAL);
  try {
    const outcome = await new Promise<string>((resolve) => {
      child.on("error", (error) => resolve(`cannot be started: ${error.message}`));
      child.on("close", (code, signal) => resolve(code === 0 ? "" : `ended with ${signal ?? `exit status ${code}`}`));
    });
    options.signal?.throwIfAborted();
    if (outcome === "") {
      fs.rmSync(logPath, { force: true });
      return seconds();
    }
    throw new Error(
      `${tool.name}: \`go build\` ${outcome}, and the lab cannot run without ${tool.name}; mend what its output names ` +
        `(often no way to the Go proxy, see \`go env GOPROXY\`, or a full disk) and run again, finished packages are kept. ` +
        `Whole output: ${logPath}. Its end:\n${tail.join("\n")}`,
    );
  } finally {
    clearInterval(progress);
    clearTimeout(force);
    process.removeListener("exit", onExit);
    options.signal?.removeEventListener("abort", interrupt);
    await new Promise<void>((resolve) => log.end(resolve));
  }
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // The whole group is gone already.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
