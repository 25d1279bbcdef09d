import * as http2 from "node:http2";
import * as pulumi from "@pulumi/pulumi";

/** Sources of the engine's address, in addition to the arguments of the process. */
export interface Sources {
  /** The address from the SDK, because Pulumi's `cmd/run` removes the arguments. */
  ofProgram: () => string | undefined;
  /** The original command line of the process, because `cmd/run-policy-pack` removes the arguments. */
  asStarted: () => readonly string[];
}

/**
 * The address of the engine that started this process through Pulumi's language host. The process may be a program
 * (`cmd/run`), whose engine the SDK knows; a plugin for programs in YAML, Python or Go (`cmd/run-plugin`); or a policy
 * pack (`cmd/run-policy-pack`), whose first argument is the address (pulumi/pulumi, sdk/nodejs/provider/internals.ts;
 * sdk/go/common/resource/plugin/analyzer_plugin.go). Undefined in any other process. The plugin, the policy pack and
 * the stacks' program import this file. The components do not import it, so it never ends a user's own program.
 */
export function engineOf(
  argv: readonly string[],
  { ofProgram, asStarted }: Sources,
): string | undefined {
  const cmd = /@pulumi[/\\]pulumi[/\\]cmd[/\\](run|run-plugin|run-policy-pack)([/\\]|$)/;
  const [, command] = cmd.exec(argv[1] ?? "") ?? [];
  if (command === undefined) return undefined;
  if (command === "run") return ofProgram();
  const commandArguments = command === "run-policy-pack" ? asStarted() : argv;
  return commandArguments.find((argument) => /^[^-/].*:\d+$/.test(argument));
}

/** Exit code of a process without its engine: EX_UNAVAILABLE of sysexits.h. No crash of Node has this code. */
export const engineGoneCode = 69;

/** Milliseconds before a lost connection is opened again. */
const reconnectDelay = 1000;

/**
 * Calls `onGone` once the engine has ended, e.g. after a SIGKILL of Pulumi's command line: the connection to the engine
 * ends, and the computer refuses a new one. A lost connection alone does not prove the end: the engine may still run,
 * and its update must go on.
 */
function onEngineGone(engine: string, onGone: () => void): void {
  const session = http2.connect(`http://${engine}`);
  let refused = false;
  session.on("error", ({ code }: NodeJS.ErrnoException) => (refused = code === "ECONNREFUSED"));
  session.once("close", () =>
    refused ? onGone() : void setTimeout(onEngineGone, reconnectDelay, engine, onGone).unref(),
  );
  session.unref();
}

/** The engine's address without gRPC's scheme: `127.0.0.1:4000` for `dns:127.0.0.1:4000`. */
function engineOfProgram(): string | undefined {
  const engine = pulumi.runtime.getEngine() as
    { getChannel(): { getTarget(): string } } | undefined;
  return engine?.getChannel().getTarget().replace(/^dns:/, "");
}

/** The command line in Node's diagnostic report, which does not change with `process.argv`. */
function commandLine(): readonly string[] {
  // Without this, the report would look up the names of addresses.
  Object.assign(process.report, { excludeNetwork: true });
  return (process.report.getReport() as { header: { commandLine: string[] } }).header.commandLine;
}

// Pulumi's Node SDK does not check the engine. Without this, a plugin, a policy pack, or a program without an open
// request would run on after the engine's end.
const engine = engineOf(process.argv, { ofProgram: engineOfProgram, asStarted: commandLine });
if (engine !== undefined) onEngineGone(engine, () => process.exit(engineGoneCode));
