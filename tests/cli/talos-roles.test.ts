import * as fs from "node:fs";
import * as path from "node:path";
import { startApiServer, setupCli, writeKubeconfig, clusterWithGpu, runCommand } from "./support";

// The Talos calls of each command, and the role for which Talos allows each (docs/roles).

const { folder, cli, urlOf } = setupCli();

/**
 * Roles that may make the call behind a command of talosctl (talos, internal/app/machined/pkg/system/services/machined.go, rules; the machine's
 * configuration is a resource that only os:admin may read: pkg/machinery/resources/config/machine_config.go, Sensitive).
 */
const readerCommands = ["version", "get", "dmesg", "logs", "services", "etcd"];
const needsAdministrator = (command: string, argument: string): boolean =>
  !readerCommands.includes(command) || argument === "machineconfig";

/** A talosctl whose machine has a card, and whose Talos grants one role. It writes down its arguments. */
function writeTalosctl(role: "os:reader" | "os:admin"): {
  program: string;
  calls: () => string[][];
} {
  const program = path.join(folder, `talosctl-${role.slice(3)}`);
  const callsFile = `${program}.jsonl`;
  fs.rmSync(callsFile, { force: true });
  fs.writeFileSync(
    program,
    `#!${process.execPath}
const [command, argument] = process.argv.slice(2);
require("node:fs").appendFileSync(${JSON.stringify(callsFile)}, JSON.stringify([command, argument]) + "\\n");
const isDenied = ${JSON.stringify(role)} === "os:reader" && (!${JSON.stringify(readerCommands)}.includes(command) || argument === "machineconfig");
if (isDenied) {
  process.stderr.write("rpc error: code = PermissionDenied desc = not authorized\\n");
  process.exit(1);
}
if (command === "version") console.log(argument === "--client" ? "v1.13.0" : '{"version":{"tag":"v1.12.6"}}');
if (command === "services") console.log("NODE        SERVICE   STATE     HEALTH\\n127.0.0.1   cri       Running   OK");
if (argument === "pcidevices") console.log('{"metadata":{"id":"0000:05:00.0"},"spec":{"vendor":"NVIDIA Corporation"}}');
`,
    { mode: 0o755 },
  );
  const calls = (): string[][] =>
    fs
      .readFileSync(callsFile, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as string[])
      .filter(([command, argument]) => command !== "version" || argument !== "--client");
  return { program, calls };
}

/**
 * Runs a verb of the command with such a talosctl; returns also the calls of talosctl, and those that need the role
 * os:admin.
 */
async function run(role: "os:reader" | "os:admin", verb: string, ...options: string[]) {
  const talosconfig = path.join(folder, "talosconfig");
  fs.writeFileSync(
    talosconfig,
    JSON.stringify({ context: "home", contexts: { home: { key: "a2V5" } } }),
  );
  const { program, calls } = writeTalosctl(role);
  const access = [
    "--kubeconfig",
    writeKubeconfig(folder, await urlOf(startApiServer(clusterWithGpu))),
    "--talosconfig",
    talosconfig,
  ];
  const result = await runCommand(cli, [verb, ...access, ...options], {
    TALOS_GPU_TALOSCTL: program,
  });
  const denied = calls().filter(([command = "", argument = ""]) =>
    needsAdministrator(command, argument),
  );
  return {
    ...result,
    calls: calls(),
    denied: [...new Set(denied.map((call) => call.join(" ")))].sort(),
  };
}

test("with Talos' role os:reader the doctor lacks only files and the configuration, and reports that", async () => {
  const { stdout, denied, calls } = await run("os:reader", "doctor", "--json");
  expect(calls.length).toBeGreaterThan(3);
  const deniedCommands = denied.filter((call) => !call.startsWith("read "));
  expect(deniedCommands.filter((call) => call !== "get machineconfig")).toEqual([]);
  const { notes, unseen } = JSON.parse(stdout) as { notes: string[]; unseen: string[] };
  expect([...notes, ...unseen].join("\n")).toMatch(/os:reader|configuration/);
});

test("with Talos' role os:reader, discover still reads the machine's PCI devices", async () => {
  const { denied, calls } = await run("os:reader", "discover");
  expect(calls).toContainEqual(["get", "pcidevices"]);
  const deniedCommands = denied.filter((call) => !call.startsWith("read "));
  expect(deniedCommands.filter((call) => call !== "get machineconfig")).toEqual([]);
});

test("with Talos' role os:reader a bug report lists each file that it could not read", async () => {
  const { stdout, denied } = await run(
    "os:reader",
    "bug-report",
    "--within",
    "20",
    "--out",
    "reader",
    "--json",
  );
  const { missing, files } = JSON.parse(stdout) as { missing: string[]; files: string[] };
  const unread = denied.filter((call) => call.startsWith("read /proc/"));
  expect(unread.length).toBeGreaterThan(5);
  const missingText = missing.join("\n");
  for (const call of unread) expect(missingText).toContain(call.slice("read ".length));
  expect(files).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/dmesg\.log$/),
      expect.stringMatching(/cri\.log$/),
    ]),
  );
});

test.each(["doctor", "discover"])(
  "%s runs only commands of talosctl that change no machine",
  async (verb) => {
    const { calls } = await run("os:admin", verb);
    const changesNothing = ([command = "", argument = ""]: string[]): boolean =>
      command === "etcd"
        ? ["members", "status"].includes(argument)
        : [...readerCommands, "read"].includes(command);
    expect(calls.filter((call) => !changesNothing(call))).toEqual([]);
  },
);
