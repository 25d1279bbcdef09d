import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { type Factory, startFactory } from "../../../factory";
import { TalosProvider, type TalosProviderOptions } from "../../../providers/talos";
import type { Clock } from "../../../providers/talos/retry";
import type { CallContext, Properties } from "../../../providers/serve";
import { reveal } from "../../../providers/values";
import { builtTool } from "../../built-tool";

export const types = {
  apply: "talos:machine/configurationApply:ConfigurationApply",
  secrets: "talos:machine/secrets:Secrets",
  schematic: "talos:imageFactory/schematic:Schematic",
  kubeconfig: "talos:cluster/kubeconfig:Kubeconfig",
  bootstrap: "talos:machine/bootstrap:Bootstrap",
  getConfiguration: "talos:machine/getConfiguration:getConfiguration",
};

/** The real talosctl, where it is there. */
export const talosctl = builtTool("talosctl");

/** A folder for the files of a test file, and an Image Factory. */
export class Bench {
  readonly dir = mkdtempSync(path.join(tmpdir(), "talos-gpu-test-"));
  readonly warnings: string[] = [];
  factory!: Factory;

  async start(): Promise<void> {
    this.factory = await startFactory();
  }

  async stop(): Promise<void> {
    await this.factory.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  provider(options: Partial<TalosProviderOptions> = {}): TalosProvider {
    const defaults = {
      talosctl: talosctl ?? "talosctl",
      factory: this.factory.url,
      tempDir: this.dir,
      clock: new TestClock(),
    };
    return new TalosProvider({ ...defaults, ...options });
  }

  /** Makes a resource, or previews it. */
  create(type: string, inputs: Properties, options: Partial<TalosProviderOptions> = {}, preview = false) {
    return this.provider(options).create(type, inputs, preview, "", 0, this.context());
  }

  context(more: Partial<CallContext> = {}): CallContext {
    return {
      urn: "",
      name: "it",
      oldInputs: {},
      oldOutputs: {},
      ignoreChanges: [],
      signal: new AbortController().signal,
      log: (_severity, message) => void this.warnings.push(message),
      ...more,
    };
  }

  /** Stands in for talosctl: writes down how it was called, and answers as the body says. */
  fake(name: string, body: string): { talosctl: string; calls: () => Recorded[] } {
    const [file, log] = [path.join(this.dir, name), path.join(this.dir, `${name}.log`)];
    const lines = `fs.readFileSync(${JSON.stringify(log)}, "utf8").trim().split("\\n")`;
    const script = `#!${process.execPath}
const fs = require("node:fs");
const args = process.argv.slice(2);
const files = args.map((arg) => arg.replace(/^@/, "")).filter((arg) => arg.startsWith("/") && fs.existsSync(arg));
const call = { args, modes: files.map((f) => fs.statSync(f).mode & 0o777), texts: files.map((f) => fs.readFileSync(f, "utf8")) };
fs.appendFileSync(${JSON.stringify(log)}, JSON.stringify(call) + "\\n");
const count = ${lines}.filter((line) => JSON.parse(line).args[0] === args[0]).length;
const fail = (message) => { console.error(message); process.exit(1); };
if (args[0] === "machineconfig") { console.log(call.texts.join("---\\n")); process.exit(0); }
${body}
`;
    writeFileSync(file, script);
    chmodSync(file, 0o755);
    const calls = (): Recorded[] =>
      readFileSync(log, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Recorded);
    return { talosctl: file, calls };
  }
}

/** A call of the stand-in: its arguments, and the modes and contents of the files among them. */
export interface Recorded {
  args: string[];
  modes: number[];
  texts: string[];
}

/** A clock that goes forward when it is waited for, and says how long. */
export class TestClock implements Clock {
  readonly pauses: number[] = [];
  private time = Date.parse("2026-11-21T00:00:00Z");
  now = (): number => this.time;
  sleep(milliseconds: number): Promise<void> {
    this.pauses.push(milliseconds);
    this.time += milliseconds;
    return Promise.resolve();
  }
}

/** Values without secret marks, and where the marks were. */
export function open(outputs: Properties): { values: any; secrets: string[] } {
  const { plain, secrets: marks } = reveal(outputs);
  return { values: plain, secrets: marks.map((mark) => mark.join(".")) };
}

/** A client certificate that nobody checks. */
export const client = { caCertificate: "Y2E=", clientCertificate: "Y3J0", clientKey: "a2V5" };
