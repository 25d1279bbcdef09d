import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CallContext, Properties } from "../provider";
import type { Access } from "./kubeconfig";

/** A release as `helm --output json` tells it; the parts that are used. */
export interface HelmStatus {
  name: string;
  namespace: string;
  /** Revision of the release, from 1. */
  version: number;
  info?: { status?: string };
  chart?: { metadata?: { name?: string; version?: string; appVersion?: string } };
  manifest?: string;
}

/** Where Helm is and where it may write. */
export interface HelmPlace {
  /** The `helm` binary, version 3. */
  readonly helm: string;
  /** Folder for values and kubeconfigs while Helm runs. Default: the system's for temporary files. */
  readonly temporary?: string;
}

/** Helm's refusal, in its own words. */
export class HelmError extends Error {}

/**
 * Runs Helm and returns its standard output. Values and kubeconfig go by files that only this user can read, in a folder
 * that is removed afterwards; Helm's own settings and caches are in that folder too, so none of the user's come in.
 *
 * @param access of the cluster; undefined where Helm asks a chart repository alone
 *
 * Errors: `HelmError` with the last lines of standard error.
 */
export async function runHelm(
  { helm, temporary = tmpdir() }: HelmPlace,
  args: readonly string[],
  access: Access | undefined,
  context: Pick<CallContext, "signal">,
  values?: Properties,
): Promise<string> {
  const dir = await mkdtemp(path.join(temporary, "talos-gpu-helm-"));
  try {
    const cluster = access ? ["--kubeconfig", await privateFile(dir, "kubeconfig", access.text)] : [];
    // JSON is YAML
    const with_ = values ? ["--values", await privateFile(dir, "values.json", JSON.stringify(values))] : [];
    return await finished(helm, [...args, ...with_, ...cluster], environment(dir), context.signal);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function privateFile(dir: string, name: string, content: string): Promise<string> {
  const file = path.join(dir, name);
  await writeFile(file, content, { mode: 0o600 });
  return file;
}

function environment(dir: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("HELM_") && name !== "KUBECONFIG");
  const homes = ["CACHE", "CONFIG", "DATA"].map((kind) => [`HELM_${kind}_HOME`, path.join(dir, kind.toLowerCase())]);
  return Object.fromEntries([...own, ...homes]) as NodeJS.ProcessEnv;
}

/** Helm ends by itself at its `--timeout`; at an interrupt it records the release as failed, so that is how it is told. */
async function finished(helm: string, args: string[], env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(helm, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  const interrupt = (): void => void child.kill("SIGINT");
  signal.addEventListener("abort", interrupt, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (code === 0) return Buffer.concat(stdout).toString("utf8");
    throw new HelmError(`helm ${args[0]}: ${Buffer.concat(stderr).toString("utf8").trim()}`);
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}
