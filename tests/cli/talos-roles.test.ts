import * as fs from "node:fs";
import * as path from "node:path";
import { apiServer, cliStand, kubeconfig, offering, runCommand } from "./stand";

// The Talos calls of each command, and the role for which Talos allows each (docs/roles).

const { folder, cli, at } = cliStand();

/**
 * Roles that may make the call behind a command of talosctl (talos, internal/app/machined/pkg/system/services/machined.go, rules; the machine's
 * configuration is a resource that only os:admin may read: pkg/machinery/resources/config/machine_config.go, Sensitive).
 */
const readers = ["version", "get", "dmesg", "logs", "services", "etcd"];
const forAdministrators = (command: string, what: string): boolean =>
  !readers.includes(command) || what === "machineconfig";

/** A talosctl whose machine has a card, and whose Talos grants one role. It writes down its arguments. */
function talosctl(role: "os:reader" | "os:admin"): { program: string; asked: () => string[][] } {
  const program = path.join(folder, `talosctl-${role.slice(3)}`);
  const noted = `${program}.jsonl`;
  fs.rmSync(noted, { force: true });
  fs.writeFileSync(
    program,
    `#!${process.execPath}
const [command, what] = process.argv.slice(2);
require("node:fs").appendFileSync(${JSON.stringify(noted)}, JSON.stringify([command, what]) + "\\n");
const isDenied = ${JSON.stringify(role)} === "os:reader" && (!${JSON.stringify(readers)}.includes(command) || what === "machineconfig");
if (isDenied) {
  process.stderr.write("rpc error: code = PermissionDenied desc = not authorized\\n");
  process.exit(1);
}
if (command === "version") console.log(what === "--client" ? "v1.13.0" : '{"version":{"tag":"v1.12.6"}}');
if (command === "services") console.log("NODE        SERVICE   STATE     HEALTH\\n127.0.0.1   cri       Running   OK");
if (what === "pcidevices") console.log('{"metadata":{"id":"0000:05:00.0"},"spec":{"vendor":"NVIDIA Corporation"}}');
`,
    { mode: 0o755 },
  );
  const asked = (): string[][] =>
    fs
      .readFileSync(noted, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as string[])
      .filter(([command, what]) => command !== "version" || what !== "--client");
  return { program, asked };
}

async function run(role: "os:reader" | "os:admin", verb: string, ...more: string[]) {
  const talosconfig = path.join(folder, "talosconfig");
  fs.writeFileSync(
    talosconfig,
    JSON.stringify({ context: "home", contexts: { home: { key: "a2V5" } } }),
  );
  const { program, asked } = talosctl(role);
  const access = [
    "--kubeconfig",
    kubeconfig(folder, await at(apiServer(offering))),
    "--talosconfig",
    talosconfig,
  ];
  const said = await runCommand(cli, [verb, ...access, ...more], { TALOS_GPU_TALOSCTL: program });
  const denied = asked().filter(([command = "", what = ""]) => forAdministrators(command, what));
  return {
    ...said,
    asked: asked(),
    denied: [...new Set(denied.map((one) => one.join(" ")))].sort(),
  };
}

test("with Talos' role os:reader the doctor lacks only files and the configuration, and reports that", async () => {
  const { stdout, denied, asked } = await run("os:reader", "doctor", "--json");
  expect(asked.length).toBeGreaterThan(3);
  expect(denied.filter((one) => one !== "get machineconfig" && !one.startsWith("read "))).toEqual(
    [],
  );
  const { notes, unseen } = JSON.parse(stdout) as { notes: string[]; unseen: string[] };
  expect([...notes, ...unseen].join("\n")).toMatch(/os:reader|configuration/);
});

test("with Talos' role os:reader discover still sees the card", async () => {
  const { denied, asked } = await run("os:reader", "discover");
  expect(asked).toContainEqual(["get", "pcidevices"]);
  expect(denied.filter((one) => one !== "get machineconfig" && !one.startsWith("read "))).toEqual(
    [],
  );
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
  const unread = denied.filter((one) => one.startsWith("read /proc/"));
  expect(unread.length).toBeGreaterThan(5);
  const told = missing.join("\n");
  for (const one of unread) expect(told).toContain(one.slice("read ".length));
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
    const { asked } = await run("os:admin", verb);
    const commands = new Set(asked.map(([command]) => command));
    expect([...commands].filter((command) => ![...readers, "read"].includes(command!))).toEqual([]);
  },
);
