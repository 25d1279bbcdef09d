import { randomBytes } from "node:crypto";
import * as path from "node:path";
import type { CallContext, CheckFailure, DiffResult, LabProvider, Properties } from "../provider";
import { containsUnknown, differences, UNKNOWN } from "../values";
import { run } from "./run";

/** Where and with what the commands run. */
export interface CommandOptions {
  /** Working directory of commands without `dir`: the folder of the program's main file. */
  readonly directory: string;
  /** Environment of every command, `PATH` included. Default: this process' environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

const type = "command:local:Command";
const kinds: Readonly<Record<string, "string" | "list" | "map" | "boolean">> = {
  create: "string",
  update: "string",
  delete: "string",
  stdin: "string",
  dir: "string",
  logging: "string",
  interpreter: "list",
  triggers: "list",
  environment: "map",
  addPreviousOutputInEnv: "boolean",
};
/** Bytes of a line at which Go's bufio.Scanner gives up, and with it whoever writes (pulumi-command v1.2.1, provider/pkg/provider/util, LogOutput). */
const longestLine = 64 * 1024;

/**
 * `command:local:Command` of `@pulumi/command` 1.2.1, by the rules of pulumi-command v1.2.1
 * (provider/pkg/provider/local) and of pulumi-go-provider v1.3.0 (infer/resource.go): an update without `update` runs
 * `create`; `triggers` that come or go replace; streams are unknown at preview; an output is secret only when the input of the
 * same name is, so `stdout` needs `additionalSecretOutputs`. Not emulated: `assetPaths` and `archivePaths`, which are
 * refused, and the `remote` commands.
 */
export class CommandProvider implements LabProvider {
  readonly name = "command";
  readonly version = "1.2.1";

  constructor(private readonly options: CommandOptions) {}

  check(of: string, _olds: Properties, news: Properties) {
    this.expect(of);
    return { inputs: news, failures: Object.entries(news).flatMap(([name, value]) => findings(name, value)) };
  }

  diff(_type: string, _id: string, olds: Properties, news: Properties): DiffResult {
    const detailed = differences(olds, news);
    const paths = Object.keys(detailed);
    // Asked path by path whether it replaces, the provider knows `triggers` and not `triggers[0]` (infer/resource.go, Diff): that a
    // changed trigger replaces is the SDK's doing, by replaceOnChanges.
    return { changes: paths.length > 0, replaces: paths.filter((at) => at === "triggers"), detailed };
  }

  async create(
    of: string,
    inputs: Properties,
    preview: boolean,
    _urn: string,
    timeoutSeconds: number,
    context: CallContext,
  ) {
    this.expect(of);
    const id = `${context.name}${randomBytes(4).toString("hex")}`;
    if (preview) return { id, outputs: { ...inputs, stdout: UNKNOWN, stderr: UNKNOWN } };
    const streams = await this.execute(inputs["create"], inputs, {}, timeoutSeconds, context);
    return { id, outputs: { ...inputs, ...streams } };
  }

  async update(
    _type: string,
    _id: string,
    olds: Properties,
    news: Properties,
    preview: boolean,
    timeoutSeconds: number,
    context: CallContext,
  ) {
    if (preview) return { outputs: { ...news, stdout: UNKNOWN, stderr: UNKNOWN } };
    const streams = await this.execute(news["update"] ?? news["create"], news, olds, timeoutSeconds, context);
    return { outputs: { ...news, ...streams } };
  }

  async delete(_type: string, _id: string, state: Properties, timeoutSeconds: number, context: CallContext) {
    await this.execute(state["delete"], state, state, timeoutSeconds, context);
  }

  private async execute(
    command: unknown,
    inputs: Properties,
    previous: Properties,
    timeoutSeconds: number,
    context: CallContext,
  ): Promise<Properties> {
    const before = { stdout: text(previous["stdout"]) ?? "", stderr: text(previous["stderr"]) ?? "" };
    if (typeof command !== "string") return before;
    const logging = inputs["logging"] ?? "stdoutAndStderr";
    const stuck = new AbortController();
    return {
      ...(await run({
        command,
        interpreter: inputs["interpreter"] as string[] | undefined,
        dir: path.resolve(this.options.directory, text(inputs["dir"]) ?? ""),
        environment: this.environment(inputs, before),
        stdin: text(inputs["stdin"]),
        timeoutSeconds,
        signal: AbortSignal.any([context.signal, stuck.signal]),
        onLine: (stream, line) => {
          if (logging !== "stdoutAndStderr" && logging !== stream) return;
          if (Buffer.byteLength(line) >= longestLine) stuck.abort();
          else context.log("info", line, { ephemeral: true });
        },
      }).catch((error: Error) => {
        if (!stuck.signal.aborted) throw error;
        throw new Error(
          "a line that is logged has 64 KiB or more: the real provider stops reading there, and never ends",
        );
      })),
    };
  }

  private environment(inputs: Properties, before: { stdout: string; stderr: string }): Record<string, string> {
    const previous =
      inputs["addPreviousOutputInEnv"] === false
        ? {}
        : {
            ...(before.stdout && { PULUMI_COMMAND_STDOUT: before.stdout }),
            ...(before.stderr && { PULUMI_COMMAND_STDERR: before.stderr }),
          };
    const base = this.options.environment ?? (process.env as Record<string, string>);
    return { ...base, ...(inputs["environment"] as Record<string, string> | undefined), ...previous };
  }

  private expect(of: string): void {
    if (of !== type)
      throw new Error(`${of}: the lab's command provider has only ${type}; run this stack with the real plugin`);
  }
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function findings(name: string, value: unknown): CheckFailure[] {
  if (name.startsWith("__") || name === "version" || value === undefined || value === null) return [];
  const kind = kinds[name];
  if (notEmulated.includes(name)) return [{ property: name, reason: "the lab does not emulate it" }];
  if (!kind) return [{ property: name, reason: `Unrecognized field '${name}' on 'local.CommandInputs'` }];
  if (value === UNKNOWN) return [];
  const fits = { string: typeof value === "string", boolean: typeof value === "boolean", list: Array.isArray(value) };
  const ok = kind === "map" ? typeof value === "object" && !Array.isArray(value) : fits[kind];
  if (!ok) return [ofOtherType(name, goTypes[kind], value)];
  if (kind === "list" && name !== "triggers") {
    const odd = (value as unknown[]).findIndex((item) => typeof item !== "string");
    return odd < 0 ? [] : [ofOtherType(`${name}[${odd}]`, "string", (value as unknown[])[odd])];
  }
  const odd =
    kind === "map" ? Object.entries(value as Properties).find(([, item]) => typeof item !== "string") : undefined;
  if (odd && !containsUnknown(odd[1])) return [ofOtherType(`${name}[${odd[0]}] value`, "string", odd[1])];
  return [];
}

const notEmulated = ["assetPaths", "archivePaths"];

const goTypes = { string: "string", boolean: "bool", list: "[]string", map: "map[string]string" };

/** In the real one's words, asked by lab/tests/providers/rules/installed.test.ts. */
function ofOtherType(property: string, type: string, value: unknown): CheckFailure {
  const got = typeof value === "number" ? "float64" : typeof value === "boolean" ? "bool" : typeof value;
  return { property, reason: `Field '${property}' on 'local.CommandInputs' must be a '${type}'; got '${got}' instead` };
}
