import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import * as semver from "semver";

import type { ToolDefinition, Toolchain } from "../definition";

/**
 * The environment of every `go` the lab runs. Whatever the user has set for their own work (cross compilation, a
 * workspace, flags) stays out; caches and proxies are theirs. No C compiler is needed, as in these projects' release builds.
 */
export function goEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { GOOS: _os, GOARCH: _arch, ...rest } = env;
  return { ...rest, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: "-mod=readonly" };
}

/** Bytes of memory per core that let each core's compiler have up to two gibibytes: few packages make it take more than half of one. */
const AMPLE = 3 * 1024 ** 3;

/**
 * Settings with which Go's compiler and linker hardly collect garbage, which is a tenth of a build's time, where the computer has the
 * memory for it: one compiler runs per core, and collects once it has two gibibytes. Empty elsewhere. What the user has set stays.
 */
export function ampleMemory(env: NodeJS.ProcessEnv, memory = availableMemory()): NodeJS.ProcessEnv {
  if (env.GOGC !== undefined || env.GOMEMLIMIT !== undefined) return {};
  return memory / os.availableParallelism() < AMPLE ? {} : { GOGC: "off", GOMEMLIMIT: "2GiB" };
}

/** Bytes that this computer has, or the container that this process runs in. */
function availableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, os.totalmem()) : os.totalmem();
}

/**
 * The toolchain that Go would take for this tool's module; where the user's Go is older than the module asks, that may be
 * one that Go downloads (https://go.dev/doc/toolchain).
 *
 * @throws when there is no Go, or when it is too old and may not fetch a newer one.
 */
export async function toolchainFor(tool: ToolDefinition, env: NodeJS.ProcessEnv): Promise<Toolchain> {
  const wanted = await goDirective(tool);
  const remedy =
    `install Go ${wanted} or newer (https://go.dev/dl)` +
    (tool.onPath === undefined ? "" : `, or put ${tool.name} ${tool.onPath.range} on PATH`);
  const answer = await goEnv(tool.folder, env);
  if (answer === "missing") {
    throw new Error(`${tool.name}: there is no \`go\` on PATH, and the lab builds ${tool.name} from source; ${remedy}`);
  }
  if (typeof answer === "string" || semver.lt(looseVersion(answer.version), looseVersion(wanted))) {
    const found = typeof answer === "string" ? answer : answer.version;
    throw new Error(`${tool.name}: Go is too old (${found}), and its sources need Go ${wanted}; ${remedy}`);
  }
  return answer;
}

/** The Go version that a module asks for. */
async function goDirective(tool: ToolDefinition): Promise<string> {
  const file = path.join(tool.folder, "go.mod");
  const content = await fs.readFile(file, "utf8").catch((cause: unknown) => {
    throw new Error(`${tool.name}: ${file} cannot be read, and it pins what is built; restore it from the repository`, {
      cause,
    });
  });
  const directive = /^go\s+(\S+)/m.exec(content)?.[1];
  if (directive === undefined)
    throw new Error(`${tool.name}: ${file} has no go directive; restore it from the repository`);
  return directive;
}

/** `go env` in a folder: the toolchain, `missing`, or why Go refuses the folder's module. */
function goEnv(cwd: string, env: NodeJS.ProcessEnv): Promise<Toolchain | string> {
  return new Promise((resolve) => {
    const args = ["env", "-json", "GOVERSION", "GOOS", "GOARCH"];
    execFile("go", args, { cwd, env: goEnvironment(env) }, (error, stdout, stderr) => {
      if (error !== null) return resolve(error.code === "ENOENT" ? "missing" : stderr.trim() || error.message);
      const { GOVERSION, GOOS, GOARCH } = JSON.parse(stdout) as { GOVERSION: string; GOOS: string; GOARCH: string };
      resolve({ version: GOVERSION, os: GOOS, arch: GOARCH });
    });
  });
}

/** `go1.26.8`, `1.26` or `go1.27rc1` as a semantic version. */
function looseVersion(text: string): string {
  return semver.coerce(text)?.version ?? "0.0.0";
}
