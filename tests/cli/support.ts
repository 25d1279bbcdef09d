import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { bundle } from "../../generate/package/bundles";
import type { DoctorReport } from "../../cli/doctor/report";
import { parseOptions } from "../../cli/options";
import { printingTo } from "../../cli/printed";
import type { Output, Verb } from "../../cli/verb";

/** Makes a temporary folder for one test. */
export const makeTemporaryFolder = (): string =>
  fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-cli-"));

/** Makes such a folder for the tests of a file, and removes it after the last of them. */
export function sharedTemporaryFolder(): string {
  const folder = makeTemporaryFolder();
  afterAll(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

/**
 * Returns a function that makes a git repository with the given files. The folders are removed after the last test
 * of the file.
 */
export function repositoryFactory(): (files: Record<string, string | Buffer>) => string {
  const folders: string[] = [];
  afterAll(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true })));
  return (files) => {
    const folder = makeTemporaryFolder();
    folders.push(folder);
    for (const [name, text] of Object.entries({ ".git/HEAD": "", ...files })) {
      fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
      fs.writeFileSync(path.join(folder, name), text);
    }
    return folder;
  };
}

/**
 * What the tests of a file share: a folder with the bundled command, and servers that are closed after the last
 * test. tests/kinds.js does not count such a file among the unit tests.
 */
export interface CliTestBed {
  folder: string;
  /** The bundled command. */
  cli: string;
  /** Waits until a server listens, and returns its URL. The server is closed after the last test. */
  urlOf(server: Promise<RunningServer>): Promise<string>;
  /** Options with a kubeconfig that leads the command to this server. */
  kubeconfigOptions(server: Promise<RunningServer>): Promise<string[]>;
}

/** Bundles the command before the first test of a file, and removes the folder after the last. */
export function setupCli(): CliTestBed {
  const folder = makeTemporaryFolder();
  const servers: RunningServer[] = [];
  const urlOf = async (server: Promise<RunningServer>): Promise<string> => {
    const runningServer = await server;
    servers.push(runningServer);
    return runningServer.url;
  };
  beforeAll(() => bundleCli(folder));
  afterAll(() => {
    for (const server of servers) server.close();
    fs.rmSync(folder, { recursive: true });
  });
  const kubeconfigOptions = async (server: Promise<RunningServer>): Promise<string[]> => [
    "--kubeconfig",
    writeKubeconfig(folder, await urlOf(server)),
  ];
  return { folder, cli: path.join(folder, "cli.js"), urlOf, kubeconfigOptions };
}

/** Bundles the command as the components' build does, into a folder without other files of this repository. */
const bundleCli = (folder: string): Promise<void> => bundle(folder, ["cli"]);

/**
 * Runs a verb in this process; returns its status, its output and each of its remarks. The remarks are the parts of
 * `stderr`.
 *
 * @param screen what reads the standard output. Default: a program reads it.
 */
export async function runVerb(
  name: string,
  verb: Verb,
  argv: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  screen: Pick<Output, "colour" | "columns"> = { colour: false },
) {
  let stdout = "";
  const remarks: string[] = [];
  const output = printingTo({
    result: (text) => void (stdout += text),
    remark: (text) => void remarks.push(text),
    ...screen,
  });
  const status = await verb.run(parseOptions(name, verb, [...argv], environment), output);
  return { status, stdout, remarks, stderr: remarks.join("") };
}

/** The command's exit status and output. */
export interface CommandResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the command as a user would, but without environment variables that lead to a cluster. */
export function runCommand(
  cli: string,
  args: string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<CommandResult> {
  const { KUBECONFIG: _k, TALOSCONFIG: _t, NO_COLOR: _n, ...inherited } = process.env;
  const folder = path.dirname(cli);
  const env = { ...inherited, HOME: folder, ...environment };
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [cli, ...args],
      { cwd: folder, env, timeout: 300_000 },
      (_, stdout, stderr) => resolve({ status: child.exitCode, stdout, stderr }),
    );
  });
}

/** Runs the doctor, and returns its report. */
export async function runDoctor(
  cli: string,
  args: string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<CommandResult & { report: DoctorReport }> {
  const result = await runCommand(cli, ["doctor", "--json", ...args], environment);
  if (result.stdout === "") throw new Error(`exit ${result.status}: ${result.stderr}`);
  return { ...result, report: JSON.parse(result.stdout) as DoctorReport };
}

/** A server that listens in place of an API server. */
export interface RunningServer {
  url: string;
  close(): void;
}

export async function startServer(answer: http.RequestListener): Promise<RunningServer> {
  const server = http.createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** An API server that has these objects, by path, and answers every other request with an empty list. */
export const startApiServer = (objects: Record<string, unknown[]>): Promise<RunningServer> =>
  startServer((request, response) => {
    const kind = { apiVersion: "v1", kind: "SomeList", metadata: {} };
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        ...kind,
        items: objects[new URL(request.url!, "http://x").pathname] ?? null,
      }),
    );
  });

/** The API objects of a cluster that offers a GPU, by path. */
export const clusterWithGpu = {
  "/api/v1/nodes": [
    {
      metadata: { name: "gpu-1", labels: { "nvidia.com/gpu.present": "true" } },
      spec: {},
      status: {
        allocatable: { "nvidia.com/gpu": "1" },
        conditions: [{ type: "Ready", status: "True" }],
        nodeInfo: { osImage: "Talos (v1.12.6)" },
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      },
    },
  ],
  "/apis/apps/v1/daemonsets": [
    {
      metadata: { namespace: "nvidia", name: "nvidia-device-plugin", generation: 1 },
      spec: { template: { spec: {} } },
      status: { desiredNumberScheduled: 1, numberReady: 1, observedGeneration: 1 },
    },
  ],
};

/** Writes a kubeconfig that leads to a server. */
export function writeKubeconfig(
  folder: string,
  server: string,
  user: Record<string, unknown> = {},
): string {
  const file = path.join(folder, `kubeconfig-${Math.random().toString(36).slice(2)}`);
  const config = {
    "current-context": "home",
    contexts: [{ name: "home", context: { cluster: "home", user: "me" } }],
    clusters: [{ name: "home", cluster: { server } }],
    users: [{ name: "me", user }],
  };
  fs.writeFileSync(file, JSON.stringify(config));
  return file;
}

/** Writes a program that writes down its own process id and that of its child, and then never ends. */
export function writeHangingProgram(
  folder: string,
  name: string,
): { program: string; pids: () => number[] } {
  const program = path.join(folder, name);
  const pidFile = `${program}.pids`;
  fs.writeFileSync(program, `#!/bin/sh\nsleep 1000 &\necho $$ $! > '${pidFile}'\nwait\n`, {
    mode: 0o755,
  });
  const pids = (): number[] => fs.readFileSync(pidFile, "utf8").trim().split(" ").map(Number);
  return { program, pids };
}
