import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { limit } from "../session/limit";
import {
  type DiffResult,
  failuresOf,
  type LabProvider,
  type Properties,
  type ResourceCall,
} from "./provider";
import { differences, orUnknown, UNKNOWN } from "./values";

/** Working directory and environment of the commands. */
export interface CommandOptions {
  /** Working directory of commands without `dir`: the folder of the program's main file. */
  readonly directory: string;
  /** Environment of every command, `PATH` included. Default: this process' environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

const type = "command:local:Command";
const text = z.string().nullish();
/** Arguments that infer derives from `local.CommandInputs`: pointers are optional, triggers may have any type. */
const commandInputs = z.strictObject({
  create: text,
  update: text,
  delete: text,
  stdin: text,
  dir: text,
  logging: text,
  interpreter: orUnknown(z.array(z.string())).nullish(),
  triggers: orUnknown(z.array(z.unknown())).nullish(),
  environment: orUnknown(z.record(z.string(), z.string())).nullish(),
  addPreviousOutputInEnv: orUnknown(z.boolean()).nullish(),
});

/** Output of a command on its streams, without the last newline. */
interface Streams {
  stdout: string;
  stderr: string;
}

/**
 * `command:local:Command` of `@pulumi/command` 1.2.1, by the rules of pulumi-command v1.2.1
 * (provider/pkg/provider/local) and of pulumi-go-provider v1.3.0 (infer/resource.go): an update without `update` runs
 * `create`; `triggers` that come or go replace; streams are unknown at preview; an output is secret only when the
 * input of the same name is, so `stdout` needs `additionalSecretOutputs`. Not emulated: `assetPaths` and
 * `archivePaths`, which are refused, and the `remote` commands.
 */
export class CommandProvider implements LabProvider {
  readonly name = "command";
  readonly version = "1.2.1";

  constructor(private readonly options: CommandOptions) {}

  check({ type: requestedType, inputs }: Pick<ResourceCall, "type" | "inputs">) {
    if (requestedType !== type)
      throw new Error(
        `${requestedType}: the lab's command provider has only ${type}; run this stack with the real plugin`,
      );
    const argumentEntries = Object.entries(inputs).filter(
      ([name]) => !name.startsWith("__") && name !== "version",
    );
    return { inputs, failures: failuresOf(commandInputs, Object.fromEntries(argumentEntries)) };
  }

  diff({ oldInputs, inputs }: Pick<ResourceCall, "oldInputs" | "inputs">): DiffResult {
    const detailed = differences(oldInputs, inputs);
    // The provider's Diff names `triggers`, not `triggers[0]` (infer/resource.go). A changed trigger replaces the
    // resource because the SDK sets replaceOnChanges.
    return {
      replaces: Object.keys(detailed).filter((property) => property === "triggers"),
      detailed,
    };
  }

  async make(call: ResourceCall) {
    const { inputs, preview, id = `${call.name}${randomBytes(4).toString("hex")}` } = call;
    const command =
      call.id === undefined ? inputs["create"] : (inputs["update"] ?? inputs["create"]);
    const streams = preview
      ? { stdout: UNKNOWN, stderr: UNKNOWN }
      : await this.execute(command, inputs, call);
    return { id, outputs: { ...inputs, ...streams } };
  }

  async delete(call: ResourceCall) {
    await this.execute(call.oldOutputs["delete"], call.oldOutputs, call);
  }

  private async execute(
    command: unknown,
    inputs: Properties,
    call: ResourceCall,
  ): Promise<Streams> {
    const { stdout, stderr } = call.oldOutputs;
    const previousStreams = {
      stdout: textOrUndefined(stdout) ?? "",
      stderr: textOrUndefined(stderr) ?? "",
    };
    if (typeof command !== "string") return previousStreams;
    const previousOutput = {
      ...(previousStreams.stdout && { PULUMI_COMMAND_STDOUT: previousStreams.stdout }),
      ...(previousStreams.stderr && { PULUMI_COMMAND_STDERR: previousStreams.stderr }),
    };
    return runCommand(command, inputs, call, {
      cwd: path.resolve(this.options.directory, textOrUndefined(inputs["dir"]) ?? ""),
      env: {
        ...(this.options.environment ?? process.env),
        ...(inputs["environment"] as Record<string, string> | undefined),
        ...(inputs["addPreviousOutputInEnv"] === false ? {} : previousOutput),
      },
    });
  }
}

const textOrUndefined = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const graceMilliseconds = 5_000;
/**
 * Length of a line in bytes at which Go's bufio.Scanner stops, so that the writer fails (pulumi-command v1.2.1,
 * provider/pkg/provider/util, LogOutput).
 */
const longestLine = 64 * 1024;

/**
 * Runs a command in a process group of its own, so that a cancelled update leaves no grandchild behind: SIGTERM to the
 * group, and SIGKILL after five seconds. Rejects if the command fails, with code or signal and both streams in the
 * order of their arrival (pulumi-command v1.2.1 provider/pkg/provider/local/commandOutputs.go).
 */
async function runCommand(
  command: string,
  inputs: Properties,
  { signal, timeoutSeconds, log }: ResourceCall,
  processOptions: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Streams> {
  signal.throwIfAborted();
  const interpreter = inputs["interpreter"] as string[] | undefined;
  const [program = "", ...args] = interpreter?.length ? interpreter : ["/bin/sh", "-c"];
  const child = spawn(program, [...args, command], {
    ...processOptions,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const lineTooLong = new AbortController();
  const { logging = "stdoutAndStderr" } = inputs;
  const allOutput: Buffer[] = [];
  const collect = (name: "stdout" | "stderr"): Buffer[] => {
    const chunks: Buffer[] = [];
    child[name].on("data", (chunk: Buffer) => allOutput.push(chunk) && chunks.push(chunk));
    if (logging === "stdoutAndStderr" || logging === name)
      createInterface({ input: child[name] }).on("line", (line) => {
        if (Buffer.byteLength(line) >= longestLine) lineTooLong.abort();
        else log("info", line, true);
      });
    return chunks;
  };
  const [stdout, stderr] = [collect("stdout"), collect("stderr")];
  child.stdin.on("error", () => undefined); // a command that does not read its input may close the pipe
  child.stdin.end(textOrUndefined(inputs["stdin"]) ?? ""); // without input, the command reads an empty file

  const timeLimit = limit(
    timeoutSeconds > 0 ? timeoutSeconds * 1000 : Infinity,
    signal,
    lineTooLong.signal,
  );
  const stop = (): void => stopGroup(child.pid);
  timeLimit.signal.addEventListener("abort", stop, { once: true });
  try {
    const failure = await new Promise<string | undefined>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("close", (code, endSignal) =>
        resolve(
          code === 0 ? undefined : code === null ? `signal: ${endSignal}` : `exit status ${code}`,
        ),
      );
    });
    if (lineTooLong.signal.aborted)
      throw new Error(
        "a line that is logged has 64 KiB or more: the real provider stops reading there, and never ends",
      );
    const description = `running ${JSON.stringify(command)}:\n${Buffer.concat(allOutput).toString()}`;
    if (signal.aborted) throw new Error(`cancelled ${description}`);
    if (timeLimit.isOver)
      throw new Error(`no end within ${timeoutSeconds} s (customTimeouts): ${description}`);
    if (failure) throw new Error(`${failure}: ${description}`);
    return { stdout: trimmed(stdout), stderr: trimmed(stderr) };
  } finally {
    timeLimit.release();
  }
}

const trimmed = (chunks: readonly Buffer[]): string =>
  Buffer.concat(chunks).toString().replace(/\n$/, "");

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
