import { LocalWorkspace, type OutputMap, Stack } from "@pulumi/pulumi/automation";
// eslint-disable-next-line @typescript-eslint/no-require-imports -- the module itself: an import of all its names is a copy
import sdkLog = require("@pulumi/pulumi/log");
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import * as path from "node:path";
import { commandOf, environmentOf } from "./cli";
import { EventRecord } from "./events";
import type { LabEngineOptions, RunOptions, RunResult } from "./options";
import { secretsProvider, Settings } from "./settings";
import { limit } from "../session/limit";

export type { Changes, Progress } from "./events";
export type { LabEngineOptions, RunOptions, RunResult } from "./options";
export { type Program, programFromFile } from "./program";

// A program in this process logs no debug messages: each costs a call of the engine, an event and a line of its log.
// There are several per resource, and they contain secrets (sdk/nodejs/log/index.ts, sdk/nodejs/runtime/resource.ts).
(sdkLog as { debug: typeof sdkLog.debug }).debug = () => Promise.resolve();

type Verb = "preview" | "up" | "destroy" | "refresh";

/** Pulumi's own engine on a file backend, with a program that runs in this process. */
export class LabEngine {
  private readonly cancellations = new Set<AbortController>();

  private constructor(
    private readonly stack: Stack,
    /**
     * Outputs of the last update, with a flag for the secret ones; empty before the first update. The CLI reads them.
     */
    readonly outputs: () => Promise<OutputMap>,
    private readonly location: Pick<LabEngineOptions, "dir" | "project" | "stack">,
    private readonly settings: Settings,
  ) {}

  /** Makes the project and the stack. Errors have the CLI's messages. */
  static async open(options: LabEngineOptions): Promise<LabEngine> {
    const { dir, project, stack } = options;
    await mkdir(path.join(dir, "state"), { recursive: true, mode: 0o700 });
    const settings = await Settings.make();
    const { program } = options;
    const workspace = await LocalWorkspace.create({
      pulumiCommand: await commandOf(options.pulumi, dir),
      envVars: { ...(await environmentOf(options)), ...settings.environment },
      secretsProvider,
      ...(typeof program === "string"
        ? { workDir: program }
        : {
            workDir: dir,
            program: program as () => Promise<Record<string, unknown>>,
            projectSettings: { name: project, runtime: "nodejs" },
          }),
    });
    // The file is written here, before the stack is made: every user could read secrets in the arguments of `pulumi
    // config set`.
    await settings.write(workspace.workDir, stack, options.config ?? {}, options.secrets ?? {});
    const stackHandle = await Stack.create(stack, workspace);
    const outputs = stackHandle.outputs.bind(stackHandle);
    // After every update it would read unused outputs and history from the CLI (Automation API, `Stack.up`).
    Object.assign(stackHandle, {
      outputs: () => Promise.resolve({}),
      info: () => Promise.resolve(undefined),
    });
    return new LabEngine(stackHandle, outputs, options, settings);
  }

  /** Replaces the plain configuration, by full key. Secrets stay, except those that are given. */
  configure(
    config: Readonly<Record<string, unknown>>,
    secrets: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    return this.settings.write(this.stack.workspace.workDir, this.location.stack, config, secrets);
  }

  preview(options: RunOptions = {}): Promise<RunResult> {
    return this.run("preview", options);
  }

  up(options: RunOptions = {}): Promise<RunResult> {
    return this.run("up", options);
  }

  /** Removes every resource, in reverse order. The program does not run. */
  destroy(options: RunOptions = {}): Promise<RunResult> {
    return this.run("destroy", options);
  }

  /** Cancels the running operation, whose result is then `cancelled`. */
  cancel(): void {
    for (const controller of this.cancellations) controller.abort();
  }

  /**
   * Updates the state from the existing resources, and forgets pending operations: `pulumi refresh
   * --clear-pending-creates`.
   */
  refresh(options: RunOptions = {}): Promise<RunResult> {
    return this.run("refresh", options);
  }

  /** Imports resources that were created before a kill into the state: `pulumi refresh --import-pending-creates`. */
  async importPending(urn: string, id: string): Promise<void> {
    const pending = ["--import-pending-creates", urn, "--import-pending-creates", id];
    // The SDK's own `refresh` has no such option, and this method is not among its types.
    const stack = this.stack as unknown as { runPulumiCmd(args: string[]): Promise<unknown> };
    await stack.runPulumiCmd(["refresh", "--yes", "--skip-preview", ...pending]);
  }

  /** Outputs of the resources in the state, with secrets in plain text, also after a failed update. */
  async resourceOutputs(): Promise<Record<string, unknown>[]> {
    const withPlainSecrets = (_key: string, value: any): unknown =>
      value?.plaintext === undefined
        ? value
        : JSON.parse(value.plaintext as string, withPlainSecrets);
    const state = JSON.stringify(await this.stack.exportStack());
    const { deployment } = JSON.parse(state, withPlainSecrets) as {
      deployment: { resources?: { outputs?: Record<string, unknown> }[] };
    };
    return (deployment.resources ?? []).map(({ outputs = {} }) => outputs);
  }

  /** Removes the lock of a killed update: `pulumi cancel`. */
  async unlock(): Promise<void> {
    await this.stack.cancel();
  }

  /**
   * Removes the incomplete file next to the state that a killed Pulumi can leave: `rm STACK.json.attrs` (pulumi,
   * pkg/backend/diy/store.go: `.pulumi/stacks/PROJECT/STACK.json`).
   */
  async forgetAttributes(): Promise<void> {
    const { dir, project, stack } = this.location;
    await rm(path.join(dir, "state/.pulumi/stacks", project, `${stack}.json.attrs`), {
      force: true,
    });
  }

  private async run(verb: Verb, options: RunOptions): Promise<RunResult> {
    const record = new EventRecord(options.onEvent ?? (() => undefined));
    const eventLog = createWriteStream(path.join(this.location.dir, "events.jsonl"), {
      flags: "a",
      mode: 0o600,
    });
    const controller = new AbortController();
    this.cancellations.add(controller);
    const timeoutSeconds = options.timeoutSeconds ?? 3600;
    const timeLimit = limit(timeoutSeconds * 1000, controller.signal, options.signal);
    const { signal } = timeLimit;
    const started = performance.now();
    let failure: string | undefined;
    try {
      await this.stack[verb]({
        onEvent: (event) => {
          // The SDK's debug messages contain every call with its secrets in plain text (sdk/nodejs/runtime/resource.ts,
          // `log.debug`), and the engine passes them on: no other user may see or keep them.
          if ((event.diagnosticEvent?.severity as string) === "debug") return;
          eventLog.write(`${JSON.stringify(event)}\n`);
          record.add(event);
        },
        signal,
        color: "never",
        suppressOutputs: true,
        suppressProgress: true,
        ...(options.refresh === undefined ? {} : { refresh: options.refresh }),
        ...(options.replace === undefined ? {} : { replace: [...options.replace] }),
        ...(verb === "refresh" ? { clearPendingCreates: true } : {}),
        ...(options.policyPacks === undefined ? {} : { policyPacks: [...options.policyPacks] }),
      });
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    } finally {
      this.cancellations.delete(controller);
      timeLimit.release();
      eventLog.end();
    }
    const seconds = (performance.now() - started) / 1000;
    const result = failure === undefined ? "succeeded" : signal.aborted ? "cancelled" : "failed";
    return {
      result,
      changes: record.changes,
      seconds,
      policyPacks: record.policyPacks,
      diagnostics: [
        ...record.diagnostics,
        ...(timeLimit.isOver && failure
          ? [`error: ${verb} took longer than ${timeoutSeconds} s and was cancelled`]
          : []),
        ...errorWithoutEvent(failure, record.diagnostics),
      ],
    };
  }
}

/** An error without an event, such as a program that could not start. */
const errorWithoutEvent = (
  failure: string | undefined,
  diagnostics: readonly string[],
): string[] =>
  failure === undefined || diagnostics.some((line) => line.startsWith("error"))
    ? []
    : [`error: ${failure}`];
