import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as semver from "semver";
import { programOnPath } from "../on-path";

/** A program that a user may have installed, and that the lab can use instead of its own build. */
interface Installable {
  /** Arguments with which it prints its version on standard output. */
  versionArguments: readonly string[];
  /** Releases that the lab works with. */
  range: string;
}

/** Milliseconds within which a program must print its version. */
const answerLimit = 10_000;

/**
 * Programs that the lab takes from PATH.
 *
 * - Pulumi from the release of the SDK in the lock file on.
 * - talosctl from 1.13 on, which knows the upgrade calls of all releases that the lab has (siderolabs/talos, LifecycleService).
 * - Helm 3, whose charts and flags the lab uses.
 */
const installables: Readonly<Record<string, Installable>> = {
  pulumi: { versionArguments: ["version"], range: ">=3.248.0 <4" },
  talosctl: { versionArguments: ["version", "--client", "--short"], range: ">=1.13.0 <1.16" },
  helm: { versionArguments: ["version", "--template", "{{.Version}}"], range: ">=3.14.0 <4" },
};

/** An installed program that the lab uses. */
export interface InstalledTool {
  tool: string;
  path: string;
  version: string;
}

/**
 * Programs on PATH that the lab uses instead of its own builds. With `TALOS_GPU_LAB_TOOLS=own` it looks for none,
 * since tests need the catalogue's versions.
 *
 * @param tools names of the wanted programs
 * @returns the installed ones that are new enough
 */
export async function installedTools(
  tools: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<InstalledTool[]> {
  if (env["TALOS_GPU_LAB_TOOLS"] === "own") return [];
  const candidates = await Promise.all(tools.map((tool) => installedTool(tool, env)));
  return candidates.filter((candidate) => candidate !== undefined);
}

async function installedTool(
  tool: string,
  env: NodeJS.ProcessEnv,
): Promise<InstalledTool | undefined> {
  const installable = installables[tool];
  const path = installable && programOnPath(tool, env);
  if (installable === undefined || path === undefined) return undefined;
  const { versionArguments, range } = installable;
  const output = await promisify(execFile)(path, versionArguments, {
    env,
    timeout: answerLimit,
  }).catch(() => undefined);
  const version = /\bv?(\d+\.\d+\.\d+\S*)/.exec(output?.stdout ?? "")?.[1];
  return version !== undefined && semver.satisfies(version, range)
    ? { tool, path, version }
    : undefined;
}

/** Programs from PATH, as one line. */
export const describeInstalled = (tools: readonly InstalledTool[]): string =>
  `from PATH: ${tools.map(({ tool, version }) => `${tool} ${version}`).join(", ")} (TALOS_GPU_LAB_TOOLS=own ignores PATH)`;
