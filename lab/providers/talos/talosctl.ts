import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";

/** A failed run of talosctl. */
export class TalosctlError extends Error {
  /** Status of the machine API as gRPC names it, e.g. `InvalidArgument`; undefined when it was not reached or not asked. */
  public readonly status: string | undefined;

  constructor(command: string, output: string) {
    super(`talosctl ${command}: ${output.trim() || "failed without a message"}`);
    this.name = "TalosctlError";
    this.status = /rpc error: code = (\w+)/.exec(output)?.[1];
  }
}

/** How a run is bounded. */
export interface RunLimits {
  /** Ends the run. */
  signal?: AbortSignal | undefined;
  /** Milliseconds until the run is ended. Default: one minute. */
  timeout?: number | undefined;
}

/** A run's output. */
export interface RunOutput {
  stdout: string;
  stderr: string;
}

/**
 * Runs the real talosctl. Secrets reach it in files of mode 0600 in a folder of mode 0700 that is gone afterwards, and
 * come back on its standard output; nothing secret is in an argument. It sees no talosconfig but the one it is given.
 */
export class Talosctl {
  constructor(
    private readonly binary: string,
    private readonly tempDir: string = tmpdir(),
  ) {}

  /**
   * Runs talosctl with files. Arguments are made from the files' paths, in the order of the contents.
   *
   * @throws TalosctlError when it fails
   */
  async run(
    contents: readonly string[],
    args: (files: string[]) => readonly string[],
    { signal, timeout = 60_000 }: RunLimits = {},
  ): Promise<RunOutput> {
    signal?.throwIfAborted();
    const folder = await mkdtemp(path.join(this.tempDir, "talos-gpu-"));
    try {
      const files = contents.map((_, index) => path.join(folder, `${index}.yaml`));
      await Promise.all(
        files.map((file, index) => writeFile(file, contents[index] ?? "", { mode: 0o600, flag: "wx" })),
      );
      return await this.execute(args(files), folder, timeout, signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  private execute(args: readonly string[], home: string, timeout: number, signal?: AbortSignal): Promise<RunOutput> {
    const env = { HOME: home, PATH: process.env["PATH"] ?? "" };
    const options = { env, timeout, maxBuffer: 64 * 1024 * 1024, ...(signal ? { signal } : {}) };
    return new Promise((resolve, reject) => {
      execFile(this.binary, [...args], options, (error, stdout, stderr) => {
        if (!error) return resolve({ stdout, stderr });
        if (signal?.aborted) return reject(new TalosctlError(args[0] ?? "", "stopped"));
        if (error.killed) return reject(new TalosctlError(args[0] ?? "", `no answer within ${timeout / 1000} s`));
        return reject(new TalosctlError(args[0] ?? "", stderr || error.message.replace(/^Command failed.*\n?/, "")));
      });
    });
  }
}
