import { spawn } from "node:child_process";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import * as readline from "node:readline";

import { buildFlags } from "../catalogue";
import type { Modules, ToolDefinition } from "../definition";
import { goEnvironment, oldestGo } from "./go";
import { changedModule, copyFolder, moduleFolder, writeModule } from "./module";

/** Lines of a failed build's output that its error quotes. */
const TAIL_LINES = 40;
/** Milliseconds between two signs of life. */
const PROGRESS_INTERVAL = 30_000;

interface BuildOptions {
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal;
  /** Called every half minute with the number of packages that Go has compiled, without those in its cache. */
  onProgress?: (packages: number, seconds: number) => void;
}

/**
 * Builds a tool with `go build` and puts it at `binary` in one step, so that no reader sees an incomplete file.
 *
 * @returns the seconds of the build
 * @throws an error with the end of Go's output if Go fails, or the signal's reason if it aborts
 */
export async function build(
  tool: ToolDefinition,
  binary: string,
  options: BuildOptions,
): Promise<number> {
  const folder = path.dirname(binary);
  const draft = `${folder}.${process.pid}.unfinished`;
  const module = `${folder}.${process.pid}.module.unfinished`;
  // Go writes every program under its own name into an existing folder.
  await fs.mkdir(tool.more ? draft : path.dirname(draft), { recursive: true });
  try {
    const cwd = tool.modules
      ? await makeOwnModule(tool, tool.modules, module, options.env)
      : tool.folder!;
    const seconds = await goBuild(tool, cwd, draft, options);
    for (const file of tool.changes?.beside ?? [])
      await fs.copyFile(path.join(module, "changed", file), path.join(draft, path.basename(file)));
    await fs.mkdir(folder, { recursive: true });
    await fs.rename(draft, binary);
    return seconds;
  } finally {
    for (const leftover of [draft, module]) await fs.rm(leftover, { recursive: true, force: true });
  }
}

/** Makes the Go module in which a tool is built, and gives its folder. */
export async function makeOwnModule(
  tool: ToolDefinition,
  modules: Modules,
  workFolder: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const folder = path.join(workFolder, "module");
  await writeModule(folder, modules, { go: oldestGo });
  if (tool.folder !== undefined) await copyFolder(tool.folder, folder);
  if (tool.changes === undefined) return folder;
  const source = await moduleFolder(tool.changes.module, folder, env);
  const replace = await changedModule(source, tool.changes, path.join(workFolder, "changed"));
  await writeModule(
    folder,
    { ...modules, replace: [...(modules.replace ?? []), replace] },
    { go: oldestGo },
  );
  return folder;
}

/**
 * Memory in MiB near which a compiler or linker collects its garbage as usual. As many of them run as there are
 * processors. A linker may need 1.5 GiB.
 */
function memoryLimit(): number {
  const constrained = process.constrainedMemory() ?? 0;
  const available = constrained > 0 ? Math.min(constrained, os.totalmem()) : os.totalmem();
  return Math.floor(Math.max(available / 2 / os.availableParallelism() / 2 ** 20, 1536));
}

async function goBuild(
  tool: ToolDefinition,
  cwd: string,
  output: string,
  options: BuildOptions,
): Promise<number> {
  const { env, signal, onProgress } = options;
  signal?.throwIfAborted();
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  // Not `go mod download`, which also fetches modules that the build does not need. A proxy may refuse some of those.
  const args = [
    "build",
    "-v",
    ...buildFlags(tool),
    "-o",
    output,
    tool.package,
    ...(tool.more ?? []),
  ];
  const child = spawn("go", args, {
    cwd,
    env: {
      ...goEnvironment(env, tool.modules ? "mod" : "readonly"),
      // Compiler and linker end before they need the memory: they collect their garbage less often, which saves a
      // quarter of their CPU time. Near the memory limit they collect as usual.
      GOGC: "400",
      GOMEMLIMIT: `${memoryLimit()}MiB`,
      ...(tool.c === undefined ? {} : { CGO_ENABLED: "1" }),
    },
    stdio: ["ignore", "ignore", "pipe"],
    // At SIGINT, Go removes its working folder; at SIGTERM it would leave it.
    ...(signal === undefined ? {} : { signal, killSignal: "SIGINT" }),
  });
  const lines: string[] = [];
  readline.createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  // With -v, Go names every package that it compiles: a line without a blank or a colon.
  const packages = (): number => lines.filter((line) => /^[^\s:]+$/.test(line)).length;
  const progress = setInterval(() => onProgress?.(packages(), seconds()), PROGRESS_INTERVAL);
  const failure = await new Promise<string>((resolve) => {
    child.on(
      "error",
      (error) => child.pid === undefined && resolve(`cannot be started: ${error.message}`),
    );
    child.on("close", (code, endSignal) =>
      resolve(code === 0 ? "" : `ended with ${endSignal ?? `exit status ${code}`}`),
    );
  });
  clearInterval(progress);
  signal?.throwIfAborted();
  if (failure === "") return seconds();
  throw new Error(
    `${tool.name}: \`go build\` ${failure}, and the lab cannot run without ${tool.name}; fix what its output names ` +
      `(often a full disk, or no way to the Go proxy or its checksum database, see \`go env GOPROXY\`) and run again; finished packages are kept. ` +
      `Its end:\n${lines.slice(-TAIL_LINES).join("\n")}`,
  );
}
