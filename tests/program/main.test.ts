import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as readline from "node:readline";
import { parse } from "yaml";
import { bundle } from "../../generate/package/bundles";
import { adoptResult, upgradeResult } from "../../components/program/task";
import { unsafeParts, hostileName } from "../cli/hostile";
import { waitUntilEnded, isRunning } from "../support/processes";
import { talosconfig } from "../support/talos";
import { schematics, createUpgradeTask } from "./fakes";

/** The built program, with a replacement for talosctl. */
const root = path.resolve(__dirname, "../..");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "machine-program-test-"));
const program = path.join(folder, "program.js");
const temporary = path.join(folder, "tmp");
const KEY = "bG9uZy1zZWNyZXQ";

beforeAll(async () => {
  const esbuild = path.join(root, "node_modules/.bin/esbuild");
  await bundle(folder, ["program"]);
  const esbuildArgs = [
    path.join(__dirname, "talosctl-double.ts"),
    "--platform=node",
    "--format=cjs",
    "--log-level=warning",
  ];
  execFileSync(esbuild, [...esbuildArgs, `--outfile=${path.join(folder, "talosctl")}`]);
  fs.chmodSync(path.join(folder, "talosctl"), 0o755);
  fs.mkdirSync(temporary);
});
afterAll(() => fs.rmSync(folder, { recursive: true }));
beforeEach(() => {
  for (const file of ["calls", "mode"]) fs.rmSync(path.join(folder, file), { force: true });
  fs.writeFileSync(
    path.join(folder, "configuration"),
    "version: v1alpha1\nmachine:\n  type: worker\n---\nkind: VolumeConfig\nname: x\n",
  );
});

interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

const baseEnvironment = () => ({
  PATH: process.env["PATH"],
  TMPDIR: temporary,
  TALOS_GPU_TALOSCTL: path.join(folder, "talosctl"),
  TALOS_GPU_TALOSCONFIG: talosconfig,
});

function start(
  verb: string,
  input: object,
  env: NodeJS.ProcessEnv = {},
): { child: ChildProcess; result: Promise<Result> } {
  const child = spawn(process.execPath, [program, verb], { env: { ...baseEnvironment(), ...env } });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  child.stdin.end(JSON.stringify(input));
  return {
    child,
    result: new Promise((resolve) => child.on("close", (code) => resolve({ code, ...output }))),
  };
}
const run = (verb: string, input: object, env?: NodeJS.ProcessEnv): Promise<Result> =>
  start(verb, input, env).result;

/** Calls whose lines are complete: a test may look while talosctl still writes. */
const calls = (): Record<string, any>[] =>
  fs
    .readFileSync(path.join(folder, "calls"), "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, any>);
const upgradeTask = createUpgradeTask({ modules: ["nvidia"] });
const adoptTask = {
  machine: "gpu-1",
  address: "10.0.0.1",
  patches: ["machine:\n  kernel:\n    modules:\n      - name: nvidia\n"],
};

test("the program's bundle lacks the Kubernetes client's generated classes, which took most of its start time", () => {
  const generated = /\b(?:Observable|Object|Promise)\w+V\d\w*Api\b/;
  const client = path.join(
    root,
    "node_modules/@kubernetes/client-node/dist/gen/types/ObservableAPI.js",
  );
  expect(fs.readFileSync(client, "utf8")).toMatch(generated);
  expect(generated.exec(fs.readFileSync(program, "utf8"))?.[0]).toBeUndefined();
});

test("for a machine that agrees with the stack, the last line says so, and the answer says that it was not rebooted", async () => {
  const { code, stdout, stderr } = await run("upgrade", upgradeTask);
  expect(code).toBe(0);
  expect(stderr.split("\n").at(-2)).toBe(
    "gpu-1: equal: the machine runs the wanted image and configuration, nothing to do",
  );
  expect(upgradeResult.parse(JSON.parse(stdout))).toMatchObject({
    schematicId: schematics.gpu,
    driverVersion: "570.211.01",
    rebooted: false,
  });
  expect(stdout.trim().split("\n")).toHaveLength(1);
});

test("no line of the program is longer than the 64 KiB that Pulumi reads", async () => {
  const { code, stderr } = await run("no verb ".repeat(10_000), {});
  expect(code).toBe(1);
  expect(stderr).toMatch(/ …$/m);
  expect(Math.max(...stderr.split("\n").map((line) => Buffer.byteLength(line)))).toBeLessThan(
    64 * 1024,
  );
});

test("control characters and line breaks in names are escaped in the program's lines", async () => {
  const machine = `gpu-1${hostileName}`;
  const succeeded = await run("adopt", { ...adoptTask, machine });
  expect(succeeded.stderr).toContain("error::forged");
  expect(succeeded.code).toBe(0);
  expect(unsafeParts(succeeded.stderr)).toEqual([]);
  const failed = await run(`${hostileName}\u202e`, {});
  expect(failed.code).toBe(1);
  expect(unsafeParts(failed.stderr)).toEqual([]);
});

test.each(["pulumi", "plugin", "shell"] as const)(
  "if its ancestor process %s is killed before the machine changes, the program ends and removes its files",
  async (killedProcess) => {
    fs.writeFileSync(path.join(folder, "mode"), "hang"); // the machine does not answer, so each call lasts half a minute
    const pulumi = path.join(folder, "pulumi");
    fs.rmSync(pulumi, { force: true });
    fs.symlinkSync(process.execPath, pulumi);
    // The shell prints the program's process id with its own. A background process has only the standard input
    // that it is given.
    const command = `exec 3<&0; node ${program} upgrade <&3 & echo "{\\"shell\\": $$, \\"program\\": $!}"; wait`;
    const plugin = `const { spawn } = require("node:child_process");
      const shell = spawn("/bin/sh", ["-c", ${JSON.stringify(command)}], { stdio: ["pipe", "inherit", "inherit"] });
      shell.stdin.end(process.env.TASK);`;
    const engine = `const { spawn } = require("node:child_process");
      const plugin = spawn(${JSON.stringify(process.execPath)}, ["-e", process.env.PLUGIN], { stdio: "inherit" });
      console.log(JSON.stringify({ pulumi: process.pid, plugin: plugin.pid }));`;
    const child = spawn(pulumi, ["-e", engine], {
      env: { ...baseEnvironment(), TASK: JSON.stringify(upgradeTask), PLUGIN: plugin },
    });
    const pids: Partial<Record<"pulumi" | "plugin" | "shell" | "program", number>> = {};
    for await (const line of readline.createInterface({ input: child.stdout })) {
      Object.assign(pids, JSON.parse(line));
      if (Object.keys(pids).length === 4) break;
    }
    await new Promise((resolve) => child.stderr.once("data", resolve)); // it has begun
    expect(isRunning(pids.program!)).toBe(true);
    process.kill(pids[killedProcess]!, "SIGKILL");
    while (isRunning(pids.program!)) await new Promise((resolve) => setTimeout(resolve, 100)); // ends with the test at the latest
    expect(fs.readdirSync(temporary)).toEqual([]);
    child.kill("SIGKILL");
  },
);

test("talosctl gets its credentials only through a file that no other user can read, and that is deleted", async () => {
  await run("upgrade", upgradeTask);
  expect(calls()).not.toEqual([]);
  for (const call of calls()) {
    expect(call).toMatchObject({ talosconfig, talosconfigMode: "600", secretsInEnvironment: [] });
    expect(call["args"].join(" ")).not.toContain(KEY);
  }
  expect(fs.readdirSync(temporary)).toEqual([]);
});

test("the verbs adopt and release work through files that no other user can read", async () => {
  const configuration = (): unknown =>
    parse(fs.readFileSync(path.join(folder, "configuration"), "utf8").split("---")[0]!);
  const configurationBefore = configuration();
  const firstAdopt = await run("adopt", adoptTask);
  expect(firstAdopt.code).toBe(0);
  expect(adoptResult.parse(JSON.parse(firstAdopt.stdout)).changed).toBe(true);
  expect(configuration()).toMatchObject({ machine: { kernel: { modules: [{ name: "nvidia" }] } } });
  const applyCall = calls().find((call) => call["appliedConfiguration"] !== undefined)!;
  expect(applyCall).toMatchObject({ appliedConfigurationMode: "600" });
  expect(applyCall["args"]).toEqual(expect.arrayContaining(["apply-config", "--mode", "staged"]));
  expect(applyCall["appliedConfiguration"]).toContain("kind: VolumeConfig");

  const secondAdopt = await run("adopt", adoptTask, { PULUMI_COMMAND_STDOUT: firstAdopt.stdout });
  expect(JSON.parse(secondAdopt.stdout)).toMatchObject({
    ...(JSON.parse(firstAdopt.stdout) as object),
    changed: false,
  });

  expect(
    (await run("release", adoptTask, { PULUMI_COMMAND_STDOUT: secondAdopt.stdout })).code,
  ).toBe(0);
  // The image's services wait for the driver at every boot.
  const { machine } = configurationBefore as { machine: object };
  expect(configuration()).toEqual({
    ...(configurationBefore as object),
    machine: { ...machine, kernel: { modules: [{ name: "nvidia" }] } },
  });
  expect(calls().some((call) => ["reboot", "upgrade"].includes(call["args"][0]))).toBe(false);
  expect(fs.readdirSync(temporary)).toEqual([]);
});

test("credentials in talosctl's output are redacted", async () => {
  fs.writeFileSync(path.join(folder, "mode"), "leak");
  const { code, stdout, stderr } = await run("upgrade", upgradeTask);
  expect(code).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain("machines.gpu-1: talosctl get failed (exit 1): ");
  expect(stderr).toContain("[redacted]");
  expect(stderr).not.toContain(KEY);
});

/** Process id of a talosctl that hangs. */
async function hangingTalosctl(): Promise<number> {
  for (;;) {
    if (fs.existsSync(path.join(folder, "calls"))) {
      const hanging = calls().find(({ args }) => args[0] !== "version");
      if (hanging !== undefined) return hanging["pid"] as number;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const)(
  "a program that is ended by %s leaves no file and no child process",
  async (signal, code) => {
    fs.writeFileSync(path.join(folder, "mode"), "hang");
    const { child, result } = start("upgrade", upgradeTask);
    const hangingPid = await hangingTalosctl();
    expect(isRunning(hangingPid)).toBe(true);
    child.kill(signal);
    expect((await result).code).toBe(code);
    expect(fs.readdirSync(temporary)).toEqual([]);
    await waitUntilEnded([hangingPid]);
  },
);

test("the next run removes the files of a program that was killed by SIGKILL", async () => {
  fs.writeFileSync(path.join(folder, "mode"), "hang");
  const { child, result } = start("upgrade", upgradeTask);
  const hanging = await hangingTalosctl();
  child.kill("SIGKILL");
  process.kill(hanging, "SIGKILL");
  await result;
  expect(fs.readdirSync(temporary)).toHaveLength(1);
  fs.rmSync(path.join(folder, "mode"));
  await run("upgrade", upgradeTask);
  expect(fs.readdirSync(temporary)).toEqual([]);
});

test("a failure of a verb for several machines is not attributed to the first machine", async () => {
  const { machine, address, talosVersion, schematicId, installerImage, image } = upgradeTask;
  const taskMachine = {
    machine,
    address,
    talosVersion,
    schematicId,
    installerImage,
    image,
    configuration: "adopted",
    gpu: true,
    settingsHash: "1",
  };
  const emptyTask = {
    omni: [],
    installers: [],
    namespaces: [],
    volumes: [],
    kubernetes: false,
    drain: false,
    limit: "1s",
  };
  const chart = { name: "gpu-operator", version: "v25.10.1", repository: "https://charts.example" };
  const input = {
    ...emptyTask,
    machines: [taskMachine],
    chart,
    mark: { annotation: "a", valuePrefix: "b" },
  };
  const { stderr } = await run("preflight", input, { TALOS_GPU_TALOSCTL: "/nowhere/talosctl" });
  expect(stderr).toMatch(/^preflight: talosctl: \/nowhere\/talosctl does not exist/m);
});

test("a missing talosctl, an unknown verb and an invalid task are reported", async () => {
  expect(
    (await run("upgrade", upgradeTask, { TALOS_GPU_TALOSCTL: "/nowhere/talosctl" })).stderr,
  ).toContain("install talosctl of the machine's minor release");
  expect((await run("destroy", upgradeTask)).stderr).toContain(
    'verb "destroy" is not one of preflight, upgrade, adopt',
  );
  expect((await run("upgrade", { ...upgradeTask, role: "king" })).stderr).toContain("role");
});
