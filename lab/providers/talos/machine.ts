import { parseDuration } from "../../../components/recipe/rules/duration";
import type { CallContext, Properties } from "../provider";
import { type Clock, retry } from "./retry";
import { type RunOutput, type Talosctl, TalosctlError } from "./talosctl";
import { clientOf, writeTalosconfig } from "./talosconfig";

/** What the resources work with. */
export interface Tools {
  readonly talosctl: Talosctl;
  /** Address of the Image Factory. */
  readonly factory: string;
  /** `host:port` that stands for every machine, instead of their own endpoints. */
  readonly machineApi: string | undefined;
  /** Where machines in maintenance mode answer, by their address, instead of there. */
  readonly maintenance: Readonly<Record<string, string>>;
  /** By how much the lab's time is faster: limits are divided by it. */
  readonly timeScale: number;
  readonly clock: Clock;
}

/** Which limit of a resource holds. */
export type Step = "create" | "update" | "delete";

/** Milliseconds that a step may take: the resource's own limit, the engine's, else ten minutes; scaled. */
export function limitOf(
  tools: Pick<Tools, "timeScale">,
  inputs: Properties,
  step: Step,
  engineSeconds: number,
): number {
  const own = (inputs["timeouts"] as Partial<Record<Step, string>> | undefined)?.[step];
  const milliseconds = own ? parseDuration(own, `timeouts.${step}`) : (engineSeconds || 600) * 1000;
  return milliseconds / tools.timeScale;
}

/** A command to one machine. */
export interface MachineCommand {
  /** What an error calls it, e.g. `applying the configuration`. */
  readonly what: string;
  /** Files that it needs, besides the talosconfig. */
  readonly contents?: readonly string[];
  /** Arguments, from the files' paths. */
  readonly args: (files: string[]) => readonly string[];
  /** Milliseconds for all tries. */
  readonly timeout: number;
  /** Address to send it to without credentials, as to a machine in maintenance mode. */
  readonly maintenance?: string | undefined;
}

/** Runs talosctl against a resource's machine, once. The talosconfig is the first file. */
export function onMachine(
  tools: Tools,
  inputs: Properties,
  command: Omit<MachineCommand, "what">,
  signal?: AbortSignal,
): Promise<RunOutput> {
  const node = String(inputs["node"]);
  const { maintenance } = command;
  if (maintenance !== undefined) {
    const { args, contents = [], timeout } = command;
    return tools.talosctl.run(contents, (files) => [...args(files), "--insecure", "--nodes", maintenance], {
      signal,
      timeout,
    });
  }
  const endpoint = tools.machineApi ?? (inputs["endpoint"] as string | undefined) ?? node;
  const talosconfig = writeTalosconfig("dynamic", clientOf(inputs));
  return tools.talosctl.run(
    [talosconfig, ...(command.contents ?? [])],
    ([config = "", ...files]) => {
      const [verb = "", ...rest] = command.args(files);
      return [verb, "--talosconfig", config, "--endpoints", endpoint, "--nodes", node, ...rest];
    },
    { signal, timeout: command.timeout },
  );
}

/**
 * The same, until it works or time is up. Every error is tried again but InvalidArgument: so does the real provider
 * (terraform-provider-talos v0.11.0), even when the machine says that it will never do it.
 */
export function untilDone(
  tools: Tools,
  inputs: Properties,
  command: MachineCommand,
  context: CallContext,
): Promise<RunOutput> {
  const final = (error: unknown): boolean => error instanceof TalosctlError && error.status === "InvalidArgument";
  const { clock } = tools;
  const what = `${command.what} (machine ${String(inputs["node"])})`;
  const { signal } = context;
  return retry({ what, timeout: command.timeout, final, clock, signal }, (left) =>
    onMachine(tools, inputs, { ...command, timeout: left }, signal),
  );
}

/**
 * The address at which a resource's machine answers in maintenance mode; undefined when it does not. Like the real provider
 * this tries without credentials first, at the resource's endpoint, whatever its node is (terraform-provider-talos v0.11.0,
 * pkg/talos/util.go, talosClientOp; it asks for the disks). A machine that the lab does not know is left alone.
 */
export async function maintenanceOf(
  tools: Tools,
  inputs: Properties,
  signal: AbortSignal,
): Promise<string | undefined> {
  const address = tools.maintenance[String(inputs["endpoint"] ?? inputs["node"])];
  if (address === undefined) return undefined;
  const args = ["version", "--insecure", "--nodes", address];
  try {
    await tools.talosctl.run([], () => args, { signal, timeout: 10_000 });
    return address;
  } catch {
    return undefined;
  }
}
