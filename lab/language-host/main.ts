import type * as grpc from "@grpc/grpc-js";
import { LanguageRuntimeService } from "@pulumi/pulumi/proto/language_grpc_pb";
import * as language from "@pulumi/pulumi/proto/language_pb";
import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import { version } from "@pulumi/pulumi/version";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import * as path from "node:path";
import { failureOf, withFields, serveGrpc, unary } from "../grpc-method";

/*
 * `pulumi-language-nodejs`, as Pulumi's CLI starts it: the last argument is the engine's address, and the first line on standard output
 * is the port that it listens on (pulumi/pulumi v3.259.0, sdk/go/common/resource/plugin/plugin.go). Working directory, environment and
 * arguments of what it runs are the real host's (sdk/nodejs/cmd/pulumi-language-nodejs/main.go). Left out: options of the runtime (no
 * Pulumi.yaml here has any); the list of needed providers (the lab sees to them); installation (`npm ci` did it); SDKs
 * (`lab/tools/languages` makes them). The real host also stands between program and engine, passes every call on, and adds pipes
 * (`--sync`) that only old SDKs use.
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
    const gone = new AbortController();
    call.on("cancelled", () => gone.abort());
    runPlugin(call.request, (response) => call.write(response), gone.signal).then(
      () => call.end(),
      (error: unknown) => call.destroy(failureOf(error) as unknown as Error),
    );
  },
  installDependencies: (call: grpc.ServerWritableStream<unknown, unknown>) => call.end(),
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

/** Runs a Node program to its end, and gives its exit status; 128 if a signal ended it. */
async function run(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
  tell: { stdout(chunk: Buffer): void; stderr(chunk: Buffer): void },
  signal?: AbortSignal,
): Promise<number> {
  const child = spawn(process.execPath, [...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.stdout.on("data", tell.stdout);
  child.stderr.on("data", tell.stderr);
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
const byTypeScript = { PULUMI_NODEJS_TYPESCRIPT: "true" };

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
const alreadyTold = 32;

/** `Run`: the program in a process of its own (main.go, execRuntime). */
async function runProgram(request: language.RunRequest): Promise<language.RunResponse> {
  const answer = (error: string, bail = false): language.RunResponse =>
    withFields(new language.RunResponse(), { error, bail });
  const info = request.getInfo();
  const folder = info?.getProgramDirectory() ?? request.getPwd();
  const named = {
    monitor: request.getMonitorAddress(),
    engine,
    organization: request.getOrganization(),
    project: request.getProject(),
    "root-directory": info?.getRootDirectory(),
    stack: request.getStack(),
    pwd: folder,
    parallel: String(request.getParallel()),
  };
  const flags = Object.entries(named).flatMap(([name, value]) =>
    value ? [`--${name}`, value] : [],
  );
  try {
    const status = await run(
      [
        sdkProgram("run", folder),
        ...flags,
        ...(request.getDryrun() ? ["--dry-run"] : []),
        info?.getEntryPoint() ?? ".",
        ...request.getArgsList(),
      ],
      { cwd: process.cwd(), env: { ...process.env, ...configuration(request), ...byTypeScript } },
      {
        stdout: (chunk) => process.stdout.write(chunk),
        stderr: (chunk) => process.stderr.write(chunk),
      },
    );
    if (status === alreadyTold) return answer("", true);
    return answer(status === 0 ? "" : `Program exited with non-zero exit code: ${status}`);
  } catch (error) {
    return answer((error as Error).message);
  }
}

/** The stack's configuration, with keys in the old form, `project:config:key` (main.go, constructConfig). */
function configuration(request: language.RunRequest): Record<string, string> {
  const entries = request.getConfigMap().toArray();
  const old = entries.map(([key, value]) => [key.replace(":", ":config:"), value]);
  return {
    PULUMI_CONFIG: JSON.stringify(Object.fromEntries(old)),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
  };
}

/**
 * `RunPlugin`: a package written in TypeScript, such as `components/`, served as a plugin; or a policy pack, such as `policy/`
 * (main.go, RunPlugin); its standard output is how the engine learns its port. The real host stands between a policy pack and the engine
 * and tells the pack the stack's configuration by environment; here the engine asks the pack itself, and a pack that reads
 * `pulumi.Config` would read nothing.
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
  const given = request.getArgsList();
  const status = await run(
    [program, ...(isPolicyPack ? [...given, folder] : [folder, ...given])],
    {
      cwd: isPolicyPack ? folder : request.getPwd() || folder,
      env: { ...(Object.fromEntries(env) as Record<string, string>), ...byTypeScript },
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
const cli = process.ppid;
setInterval(() => process.ppid === cli || end(), 1000).unref();

serveGrpc(LanguageRuntimeService, methods).then(
  ({ port }) => console.log(port),
  (error: Error) => {
    console.error(`language host: ${error.message}`);
    process.exit(1);
  },
);
