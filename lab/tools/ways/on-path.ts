import { execFile } from "node:child_process";

import * as semver from "semver";

import { programOnPath } from "../../on-path";
import type { ToolDefinition } from "../definition";

/** A program on PATH, and whether the lab takes it. */
export interface Candidate {
  /** Absolute path. */
  path: string;
  /** What it says it is, if it says anything. */
  version: string | undefined;
  /** Whether that version is in the tool's range. */
  fits: boolean;
}

/** Milliseconds: a program that does not tell its version within this time is not taken. */
const VERSION_LIMIT = 15_000;

/** The first program of the tool's name on PATH. Undefined when there is none, or when the tool is the lab's own. */
export async function findOnPath(tool: ToolDefinition, env: NodeJS.ProcessEnv): Promise<Candidate | undefined> {
  const { onPath, name } = tool;
  const file = programOnPath(name, env);
  if (onPath === undefined || file === undefined) return undefined;
  const version = versionIn(await output(file, onPath.args, env));
  return { path: file, version, fits: version !== undefined && semver.satisfies(version, onPath.range) };
}

/** The first semantic version in a text: pulumi prints `v3.259.0`, talosctl `Tag: v1.13.0`, helm `v3.22.0+g1a2b3c4`. */
const versionIn = (text: string): string | undefined => /\bv?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)/.exec(text)?.[1];

function output(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  // Pulumi would look for a newer release of itself.
  const options = { env: { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" }, timeout: VERSION_LIMIT };
  return new Promise((resolve) => {
    // One that fails is one that does not say its version: it does not fit, and the lab builds its own.
    execFile(file, [...args], options, (error, stdout) => resolve(error === null ? stdout : ""));
  });
}
