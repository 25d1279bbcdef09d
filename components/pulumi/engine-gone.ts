import * as http2 from "node:http2";
import * as pulumi from "@pulumi/pulumi";

/** Further facts that a process knows about its engine. */
export interface Sources {
  /** The address as the SDK has it: Pulumi's `cmd/run` takes the arguments away. */
  ofProgram: () => string | undefined;
  /** The command line that the process was started with: `cmd/run-policy-pack` silently takes the arguments away. */
  asStarted: () => readonly string[];
}

/**
 * The address of the engine that started this very process, by Pulumi's language host: as a program (`cmd/run`),
 * whose engine the SDK knows; as a plugin for programs in YAML, Python or Go (`cmd/run-plugin`); or as a policy pack
 * (`cmd/run-policy-pack`), whose arguments begin with it (pulumi/pulumi, sdk/nodejs/provider/internals.ts;
 * sdk/go/common/resource/plugin/analyzer_plugin.go). Undefined in any other process. The plugin, the policy pack and
 * the stacks' program import this file; the components do not, so a user's own program is left alone.
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

/** Exit code of a process without its engine: EX_UNAVAILABLE of sysexits.h, which no crash of Node has. */
export const engineGoneCode = 69;

/** Milliseconds after which a lost connection is made again. */
const again = 1000;

/**
 * Tells that the engine is gone, as after a SIGKILL of Pulumi's command line: the connection to it ends with its
 * process, and a further one is refused. One that is lost while the engine runs tells nothing: an update that goes on
 * must not end by it.
 */
function onEngineGone(engine: string, tell: () => void): void {
  const session = http2.connect(`http://${engine}`);
  let refused = false;
  session.on("error", ({ code }: NodeJS.ErrnoException) => (refused = code === "ECONNREFUSED"));
  session.once("close", () =>
    refused ? tell() : void setTimeout(onEngineGone, again, engine, tell).unref(),
  );
  session.unref();
}

/** `127.0.0.1:4000` of gRPC's `dns:127.0.0.1:4000`. */
function engineOfProgram(): string | undefined {
  const engine = pulumi.runtime.getEngine() as
    { getChannel(): { getTarget(): string } } | undefined;
  return engine?.getChannel().getTarget().replace(/^dns:/, "");
}

/** Node keeps it for its diagnostic report, whatever became of `process.argv`. */
function commandLine(): readonly string[] {
  Object.assign(process.report, { excludeNetwork: true }); // which would ask for the names of addresses
  return (process.report.getReport() as { header: { commandLine: string[] } }).header.commandLine;
}

// Pulumi's Node SDK does not look. A plugin or policy pack would run on without an engine, and so would a program
// with no request open.
const engine = engineOf(process.argv, { ofProgram: engineOfProgram, asStarted: commandLine });
if (engine !== undefined) onEngineGone(engine, () => process.exit(engineGoneCode));
