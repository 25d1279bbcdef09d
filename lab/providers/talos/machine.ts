import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { type TalosClient, talosconfigOf } from "../../../components/credentials/texts";
import { parseDuration } from "../../../components/recipe/rules/duration";
import { until } from "../../until";
import type { Properties, ResourceCall } from "../provider";

/** Settings for the provider's resources. */
export interface Tools {
  readonly talosctl: string;
  /** Folder for short-lived files with credentials. */
  readonly tempDir: string;
  readonly factory: string;
  /** `host:port` at which all machines answer, instead of their own endpoints. */
  readonly machineApi: string | undefined;
  /** By a machine's address, the `host:port` at which it answers in maintenance mode. */
  readonly maintenance: Readonly<Record<string, string>>;
  /** Lab seconds per second: limits are divided by it. */
  readonly timeScale: number;
  /** Changes a fetched kubeconfig. Default: no change. */
  readonly kubeconfig?: ((text: string) => string) | undefined;
}

/** A command of talosctl. */
export interface Command {
  /** Contents of the files that it needs. */
  readonly contents?: readonly string[];
  /** Arguments, from the files' paths. */
  readonly args: (files: string[]) => readonly string[];
  readonly signal: AbortSignal;
  /** Milliseconds. Default: one minute. */
  readonly timeout?: number;
}

interface RunOutput {
  stdout: string;
  stderr: string;
}

/**
 * Runs the real talosctl. It reads secrets from files of mode 0600, in a folder of mode 0700 that this function removes
 * afterwards. It prints secrets on its standard output. No argument contains a secret. It uses only the given
 * talosconfig.
 */
export async function runTalosctl(
  { talosctl, tempDir }: Pick<Tools, "talosctl" | "tempDir">,
  { contents = [], args, signal, timeout = 60_000 }: Command,
): Promise<RunOutput> {
  signal.throwIfAborted();
  const folder = await mkdtemp(path.join(tempDir, "talos-gpu-"));
  const files = contents.map((_, index) => path.join(folder, `${index}.yaml`));
  const commandArguments = args(files);
  try {
    for (const [index, file] of files.entries())
      await writeFile(file, contents[index] ?? "", { mode: 0o600, flag: "wx" });
    const env = { HOME: folder, PATH: process.env["PATH"] ?? "" };
    return await promisify(execFile)(talosctl, commandArguments, {
      env,
      timeout,
      signal,
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch (error) {
    const { stderr, killed, message } = error as Error & { stderr?: string; killed?: boolean };
    const timeoutMessage = killed ? `no answer within ${timeout / 1000} s` : undefined;
    const reason = signal.aborted
      ? "stopped"
      : (timeoutMessage ?? (stderr?.trim() || message.replace(/^Command failed.*\n?/, "")));
    throw new Error(`talosctl ${commandArguments[0]}: ${reason || "failed without a message"}`, {
      cause: error,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Limit of a step in milliseconds, divided by the time scale: the resource's own, else the engine's, else ten minutes.
 */
export function limitOf(
  { timeScale }: Pick<Tools, "timeScale">,
  { id, inputs, timeoutSeconds }: Pick<ResourceCall, "id" | "inputs" | "timeoutSeconds">,
): number {
  const step = id === undefined ? "create" : "update";
  const resourceLimit = (inputs["timeouts"] as Partial<Record<typeof step, string>> | undefined)?.[
    step
  ];
  return (
    (resourceLimit
      ? parseDuration(resourceLimit, `timeouts.${step}`)
      : (timeoutSeconds || 600) * 1000) / timeScale
  );
}

interface MachineCommand extends Omit<Command, "signal"> {
  /** Address of a machine in maintenance mode, which is called without credentials. */
  readonly maintenance?: string | undefined;
}

/** Runs talosctl against a resource's machine, once. */
export function onMachine(
  tools: Tools,
  { inputs, signal }: ResourceCall,
  command: MachineCommand,
): Promise<RunOutput> {
  const { maintenance, args, contents = [], ...limits } = command;
  if (maintenance !== undefined)
    return runTalosctl(tools, {
      contents,
      signal,
      ...limits,
      args: (files) => [...args(files), "--insecure", "--nodes", maintenance],
    });
  const node = String(inputs["node"]);
  const endpoint = tools.machineApi ?? (inputs["endpoint"] as string | undefined) ?? node;
  return runTalosctl(tools, {
    contents: [clientOf(inputs), ...contents],
    signal,
    ...limits,
    args: ([config = "", ...files]) => {
      const [verb = "", ...rest] = args(files);
      return [verb, "--talosconfig", config, "--endpoints", endpoint, "--nodes", node, ...rest];
    },
  });
}

/** A talosconfig with a resource's client certificate. */
function clientOf(inputs: Properties): string {
  const client = inputs["clientConfiguration"] as TalosClient["configuration"] | undefined;
  if (!client)
    throw new Error(
      "clientConfiguration: missing; it is the client certificate of the machine API",
    );
  return talosconfigOf("dynamic", client, []);
}

/** Minimum duration of the last attempt in milliseconds, so that it can report its error. */
const lastAttemptMilliseconds = 5_000;

/**
 * Repeats a command on the machine until it works or time is up. It retries after every error except InvalidArgument,
 * like the real provider (terraform-provider-talos v0.11.0), even after errors that cannot go away.
 */
export async function repeatUntilDone(
  tools: Tools,
  call: ResourceCall,
  step: string,
  command: MachineCommand,
): Promise<RunOutput> {
  const { signal, inputs } = call;
  const deadline = performance.now() + limitOf(tools, call);
  const seconds = limitOf(tools, call) / 1000;
  const attempt = (): Promise<RunOutput | Error> => {
    const timeout = Math.max(Math.ceil(deadline - performance.now()), lastAttemptMilliseconds);
    return onMachine(tools, call, { ...command, timeout }).catch((error: Error) => error);
  };
  const isOver = (result: RunOutput | Error): boolean =>
    !(result instanceof Error) ||
    signal.aborted ||
    /rpc error: code = InvalidArgument/.test(result.message);
  const { seen: result, holds } = await until({ seconds, every: 500, signal }, attempt, isOver);
  if (!(result instanceof Error)) return result;
  if (holds) throw result;
  const failedStep = `${step} (machine ${String(inputs["node"])}): gave up after ${Math.round(seconds)} s`;
  throw new Error(`${failedStep}: ${result.message}`, { cause: result });
}

/**
 * The address at which a resource's machine answers in maintenance mode; undefined when it does not. Like the real
 * provider this tries without credentials first, at the resource's endpoint, whatever its node is
 * (terraform-provider-talos v0.11.0, pkg/talos/util.go, talosClientOp; it asks for the disks). An unknown machine is
 * not called.
 */
export async function maintenanceOf(
  tools: Tools,
  { inputs, signal }: ResourceCall,
): Promise<string | undefined> {
  const address = tools.maintenance[String(inputs["endpoint"] ?? inputs["node"])];
  if (address === undefined) return undefined;
  const args = (): string[] => ["version", "--insecure", "--nodes", address];
  return runTalosctl(tools, { args, signal, timeout: 10_000 }).then(
    () => address,
    () => undefined,
  );
}
