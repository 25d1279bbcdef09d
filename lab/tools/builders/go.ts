import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

import * as semver from "semver";

import type { ToolDefinition, Toolchain } from "../definition";

/** The lab's largest Go module. Its go.mod defines the oldest Go for tools without a module in the repository. */
const ownModule = path.resolve(__dirname, "../../machines");

const goVersionOf = (folder: string): string =>
  /^go\s+(\S+)/m.exec(fs.readFileSync(path.join(folder, "go.mod"), "utf8"))![1]!;

/** The oldest Go that builds the lab's tools. */
export const oldestGo = goVersionOf(ownModule);

/**
 * The environment of every `go` that the lab runs. The user's settings for other work (cross compilation, a
 * workspace, flags) are removed; the user's caches and proxies stay. No C compiler is needed, as in these projects'
 * release builds.
 */
export function goEnvironment(
  env: NodeJS.ProcessEnv,
  mod: "readonly" | "mod" = "readonly",
): NodeJS.ProcessEnv {
  const { GOOS: _os, GOARCH: _arch, ...rest } = env;
  return { ...rest, CGO_ENABLED: "0", GOWORK: "off", GOFLAGS: `-mod=${mod}` };
}

/**
 * The toolchain that Go uses for this tool's module. If the user's Go is older than the module requires, Go may
 * download a newer one (https://go.dev/doc/toolchain).
 *
 * @throws Error if Go is missing, or is too old and may not download a newer one
 */
export async function toolchainFor(
  tool: ToolDefinition,
  env: NodeJS.ProcessEnv,
): Promise<Toolchain> {
  const folder = tool.modules || tool.folder === undefined ? ownModule : tool.folder;
  const requiredGo = goVersionOf(folder);
  const remedy = `install Go ${requiredGo} or newer (https://go.dev/dl)`;
  const toolchain = await goEnv(folder, env);
  if (toolchain === "missing")
    throw new Error(
      `${tool.name}: there is no \`go\` on PATH, and the lab builds ${tool.name} from source; ${remedy}`,
    );
  const installedGo = typeof toolchain === "string" ? toolchain : toolchain.version;
  if (typeof toolchain === "string" || semver.lt(toSemver(toolchain.version), toSemver(requiredGo)))
    throw new Error(
      `${tool.name}: Go is too old (${installedGo}), and its sources need Go ${requiredGo}; ${remedy}`,
    );
  return toolchain;
}

/** `go env` in a folder: the toolchain, `missing`, or why Go refuses the folder's module. */
const goEnv = (cwd: string, env: NodeJS.ProcessEnv): Promise<Toolchain | string> =>
  new Promise((resolve) => {
    const args = ["env", "-json", "GOVERSION", "GOOS", "GOARCH"];
    execFile("go", args, { cwd, env: goEnvironment(env) }, (error, stdout, stderr) => {
      if (error !== null)
        return resolve(error.code === "ENOENT" ? "missing" : stderr.trim() || error.message);
      const { GOVERSION, GOOS, GOARCH } = JSON.parse(stdout) as {
        GOVERSION: string;
        GOOS: string;
        GOARCH: string;
      };
      resolve({ version: GOVERSION, os: GOOS, arch: GOARCH });
    });
  });

/** `go1.26.8`, `1.26` or `go1.27rc1` as a semantic version. */
const toSemver = (text: string): string => semver.coerce(text)?.version ?? "0.0.0";
