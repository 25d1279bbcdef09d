import type * as grpc from "@grpc/grpc-js";
import { LanguageRuntimeService } from "@pulumi/pulumi/proto/language_grpc_pb";
import * as language from "@pulumi/pulumi/proto/language_pb";
import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import { version } from "@pulumi/pulumi/version";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import { failureOf, withFields, serveGrpc, unary } from "../grpc-method";

/*
 * A replacement for `pulumi-language-nodejs`, which Pulumi's CLI starts. The last argument is the engine's address. The first line on
 * standard output is the host's port (pulumi/pulumi v3.259.0, sdk/go/common/resource/plugin/plugin.go). Programs get the same working
 * directory, environment and arguments as from the real host (sdk/nodejs/cmd/pulumi-language-nodejs/main.go).
 *
 * This host has no options of the runtime, since no Pulumi.yaml here has any. It lists no needed providers, which the lab provides. It
 * makes no SDKs, which `lab/tools/languages` makes. The real host also passes every call
 * between program and engine on, and adds pipes (`--sync`) that only old SDKs use.
 */

let engine = process.argv.at(-1) ?? "";

const methods: grpc.UntypedServiceImplementation = {
  handshake: unary((request: language.LanguageHandshakeRequest) => {
    engine = request.getEngineAddress();
    return new language.LanguageHandshakeResponse();
  }),
  getPluginInfo: unary(() => withFields(new PluginInfo(), { version })),
  getRequiredPackages: unary(() => new language.GetRequiredPackagesResponse()),
  run: unary(runProgram),
  runPlugin: (
    call: grpc.ServerWritableStream<language.RunPluginRequest, language.RunPluginResponse>,
  ) => {
    const disconnection = new AbortController();
    call.on("cancelled", () => disconnection.abort());
    runPlugin(call.request, (response) => call.write(response), disconnection.signal).then(
      () => call.end(),
      (error: unknown) => call.destroy(failureOf(error) as unknown as Error),
    );
  },
  installDependencies: (
    call: grpc.ServerWritableStream<
      language.InstallDependenciesRequest,
      language.InstallDependenciesResponse
    >,
  ) => {
    installDependencies(call.request.getInfo()?.getProgramDirectory() ?? "", (stdout) =>
      call.write(withFields(new language.InstallDependenciesResponse(), { stdout })),
    ).then(
      () => call.end(),
      (error: unknown) => call.destroy(failureOf(error) as unknown as Error),
    );
  },
  runtimeOptionsPrompts: unary(() => new language.RuntimeOptionsResponse()),
  template: unary(() => new language.TemplateResponse()),
  about: unary(() =>
    withFields(new language.AboutResponse(), {
      executable: process.execPath,
      version: process.version,
    }),
  ),
  cancel: unary(() => {
    running.forEach(interrupt);
    return new Empty();
  }),
};

/** Running programs and plugins, which end with the host. */
const running = new Set<ChildProcess>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Interrupts a child, and kills it if it still runs five seconds later (main.go, cmd.WaitDelay). */
function interrupt(child: ChildProcess): void {
  child.kill("SIGINT");
  setTimeout(() => child.kill("SIGKILL"), 5_000).unref();
}

/** Runs a program to its end, and gives its exit status; 128 if a signal ended it. */
async function runToEnd(
  program: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
  onOutput: { stdout(chunk: Buffer): void; stderr(chunk: Buffer): void },
  signal?: AbortSignal,
): Promise<number> {
  const child = spawn(program, [...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.stdout.on("data", onOutput.stdout);
  child.stderr.on("data", onOutput.stderr);
  signal?.addEventListener("abort", () => interrupt(child), { once: true });
  if (signal?.aborted) interrupt(child);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? 128));
    });
  } finally {
    running.delete(child);
  }
}

/** Programs run by ts-node, which is the default without runtime options (main.go, parseOptions). */
const typeScriptVariables = { PULUMI_NODEJS_TYPESCRIPT: "true" };

/**
 * File of one of the SDK's programs, as a program in that folder finds it (main.go, locateModule).
 *
 * @throws Error with the real host's words when the SDK is not installed there.
 */
function sdkProgram(name: string, folder: string): string {
  try {
    return createRequire(path.join(folder, "program.js")).resolve(`@pulumi/pulumi/cmd/${name}`);
  } catch {
    throw new Error(
      "It looks like the Pulumi SDK has not been installed. Have you run npm install or yarn install?",
    );
  }
}

/** Exit status of `cmd/run` when it has already printed the error (cmd/run/index.ts). */
const errorAlreadyPrinted = 32;

/**
 * `InstallDependencies`: `npm install` in the root of the package's workspace (main.go, InstallDependencies;
 * sdk/nodejs/npm/npm.go, installCmd). Unlike the real host, it does nothing if the package finds Pulumi's SDK already:
 * `node_modules` of the lab's checkouts is a link to the repository's, which npm must not change.
 */
async function installDependencies(
  folder: string,
  onOutput: (chunk: Buffer) => void,
): Promise<void> {
  if (hasSdk(folder)) return;
  const root = workspaceRoot(folder) ?? folder;
  const status = await runToEnd(
    "npm",
    ["install", "--loglevel=error"],
    { cwd: root, env: process.env },
    { stdout: onOutput, stderr: onOutput },
  );
  if (status !== 0) throw new Error(`npm install in ${root} failed with exit status ${status}`);
}

function hasSdk(folder: string): boolean {
  try {
    sdkProgram("run-plugin", folder);
    return true;
  } catch {
    return false;
  }
}

/**
 * The folder above a package whose package.json lists it as a workspace (sdk/nodejs/npm/workspaces.go,
 * FindWorkspaceRoot). Patterns are not read: this repository names each workspace.
 */
function workspaceRoot(folder: string): string | undefined {
  for (let root = path.dirname(folder); root !== path.dirname(root); root = path.dirname(root)) {
    const manifest = path.join(root, "package.json");
    if (!existsSync(manifest)) continue;
    const { workspaces = [] } = JSON.parse(readFileSync(manifest, "utf8")) as {
      workspaces?: string[];
    };
    if (workspaces.includes(path.relative(root, folder))) return root;
  }
  return undefined;
}

/** `Run`: the program in a process of its own (main.go, execRuntime). */
async function runProgram(request: language.RunRequest): Promise<language.RunResponse> {
  const runResponse = (error: string, bail = false): language.RunResponse =>
    withFields(new language.RunResponse(), { error, bail });
  const info = request.getInfo();
  const folder = info?.getProgramDirectory() ?? request.getPwd();
  const flagValues = {
    monitor: request.getMonitorAddress(),
    engine,
    organization: request.getOrganization(),
    project: request.getProject(),
    "root-directory": info?.getRootDirectory(),
    stack: request.getStack(),
    pwd: folder,
    parallel: String(request.getParallel()),
  };
  const flags = Object.entries(flagValues).flatMap(([name, value]) =>
    value ? [`--${name}`, value] : [],
  );
  try {
    const status = await runToEnd(
      process.execPath,
      [
        sdkProgram("run", folder),
        ...flags,
        ...(request.getDryrun() ? ["--dry-run"] : []),
        info?.getEntryPoint() ?? ".",
        ...request.getArgsList(),
      ],
      {
        cwd: process.cwd(),
        env: { ...process.env, ...configuration(request), ...typeScriptVariables },
      },
      {
        stdout: (chunk) => process.stdout.write(chunk),
        stderr: (chunk) => process.stderr.write(chunk),
      },
    );
    if (status === errorAlreadyPrinted) return runResponse("", true);
    return runResponse(status === 0 ? "" : `Program exited with non-zero exit code: ${status}`);
  } catch (error) {
    return runResponse((error as Error).message);
  }
}

/** The stack's configuration, with keys in the old form, `project:config:key` (main.go, constructConfig). */
function configuration(request: language.RunRequest): Record<string, string> {
  const entries = request.getConfigMap().toArray();
  const oldEntries = entries.map(([key, value]) => [key.replace(":", ":config:"), value]);
  return {
    PULUMI_CONFIG: JSON.stringify(Object.fromEntries(oldEntries)),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
  };
}

/**
 * `RunPlugin`: serves a TypeScript package such as `components/` as a plugin, or runs a policy pack such as `policy/` (main.go,
 * RunPlugin). The engine reads the port from its standard output. The real host passes the stack's configuration to a policy pack in
 * environment variables. This host does not, so a pack that reads `pulumi.Config` would read nothing.
 *
 * @throws Error when it fails; the stream then ends with it.
 */
async function runPlugin(
  request: language.RunPluginRequest,
  write: (response: language.RunPluginResponse) => void,
  signal: AbortSignal,
): Promise<void> {
  const folder = request.getInfo()?.getProgramDirectory() ?? request.getProgram();
  const isPolicyPack = request.getKind() === "analyzer";
  const program = sdkProgram(isPolicyPack ? "run-policy-pack" : "run-plugin", folder);
  const env = request.getEnvList().map((entry) => entry.split(/=(.*)/s).slice(0, 2));
  const args = request.getArgsList();
  const status = await runToEnd(
    process.execPath,
    [program, ...(isPolicyPack ? [...args, folder] : [folder, ...args])],
    {
      cwd: isPolicyPack ? folder : request.getPwd() || folder,
      env: { ...(Object.fromEntries(env) as Record<string, string>), ...typeScriptVariables },
    },
    {
      stdout: (chunk) => write(withFields(new language.RunPluginResponse(), { stdout: chunk })),
      stderr: (chunk) => write(withFields(new language.RunPluginResponse(), { stderr: chunk })),
    },
    signal,
  );
  if (status !== 0 && !signal.aborted)
    throw new Error(`Program exited with non-zero exit code: ${status}`);
}

function end(): void {
  running.forEach((child) => void child.kill("SIGTERM"));
  process.exit(0);
}
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);
// If the CLI is killed, the host gets another parent process, and ends as well.
const parentProcess = process.ppid;
setInterval(() => process.ppid === parentProcess || end(), 1000).unref();

serveGrpc(LanguageRuntimeService, methods).then(
  ({ port }) => console.log(port),
  (error: Error) => {
    console.error(`language host: ${error.message}`);
    process.exit(1);
  },
);
