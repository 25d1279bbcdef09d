import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { engineGoneCode, engineOf } from "../../components/pulumi/engine-gone";

/** The package in the processes that Pulumi's host starts, at a time when none of them calls the engine. */
const root = path.resolve(__dirname, "../..");
const command = (name: string): string => path.join(root, "node_modules/@pulumi/pulumi/cmd", name);
const components = path.join(root, "components");
const policy = path.join(root, "policy");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "engine-gone-"));
const children: ChildProcess[] = [];
afterEach(() => children.splice(0).forEach((child) => child.kill("SIGKILL")));
afterAll(() => fs.rmSync(folder, { recursive: true }));

function start(args: string[], cwd = root): ChildProcess {
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
}

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) =>
    child.stdout!.once("data", (text: Buffer) => resolve(text.toString().trim())),
  );

/** A server in place of the engine. It drops its first connection, as a living engine may do. */
const engine = `const server = require("node:http2").createServer();
  let sessions = 0;
  server.on("session", (session) => (++sessions === 1 ? session.destroy() : console.log("connected again")));
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;

/**
 * A program that waits, loaded as `cmd/run` does it. The SDK also reads the engine's address from the environment.
 */
function program(
  address: string,
  files = ["pulumi/engine-gone.js", "index.js"],
  prelude = "",
): string {
  const file = path.join(folder, "node_modules/@pulumi/pulumi/cmd/run/index.js");
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const requireCalls = files
    .map((name) => `require(${JSON.stringify(path.join(components, "bin", name))});`)
    .join(" ");
  const script = `process.env.PULUMI_NODEJS_ENGINE = ${JSON.stringify(address)}; ${prelude}
    ${requireCalls} setInterval(() => {}); console.log("runs");`;
  fs.writeFileSync(file, script);
  return file;
}

test.each<[string, (address: string) => string[], string]>([
  ["plugin", (address) => [command("run-plugin"), components, address], root],
  ["program", (address) => [program(address)], root],
  ["policy pack", (address) => [command("run-policy-pack"), address, policy], policy],
])(
  "the %s ends if the engine is killed, but not if only a connection breaks",
  async (_what, args, cwd) => {
    const pulumi = start(["-e", engine]);
    const child = start(args(`127.0.0.1:${await firstLine(pulumi)}`), cwd);
    const exit = new Promise((resolve) => child.once("exit", resolve));
    const secondLine = firstLine(pulumi);
    expect(await firstLine(child)).toMatch(/^(\d+|runs)$/);
    expect(await secondLine).toBe("connected again");
    expect(child.exitCode).toBeNull();
    pulumi.kill("SIGKILL");
    expect(await exit).toBe(engineGoneCode); // before the test's time limit
  },
  60_000,
);

test("a program that is loaded after the engine was killed ends", async () => {
  const pulumi = start(["-e", engine]);
  const address = `127.0.0.1:${await firstLine(pulumi)}`;
  const engineExit = new Promise((resolve) => pulumi.once("exit", resolve));
  pulumi.kill("SIGKILL");
  await engineExit;
  const child = start([program(address)]);
  expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(engineGoneCode);
});

test.each([
  ["does not connect to the engine if it loads only the components", ["index.js"], "runs"],
  [
    "connects to the engine if it loads pulumi/engine-gone.js",
    ["pulumi/engine-gone.js", "index.js"],
    "connects",
  ],
])("a user's own program %s", async (_what, files, expectedLine) => {
  const prelude = `require("node:http2").connect = () => { console.log("connects"); process.exit(); };`;
  expect(await firstLine(start([program("127.0.0.1:1", files, prelude)]))).toBe(expectedLine);
});

const argvOfPolicyPack = () => [
  "node",
  "--flag=x:1",
  command("run-policy-pack"),
  "127.0.0.1:6000",
  policy,
];
const sources = { ofProgram: () => "127.0.0.1:5000", asStarted: argvOfPolicyPack };

test.each([
  [
    "a plugin that Pulumi's host starts",
    ["node", command("run-plugin"), "127.0.0.1:4000"],
    "127.0.0.1:4000",
  ],
  [
    "a plugin with flags of the engine",
    ["node", command("run-plugin"), "-v=9", "127.0.0.1:4000"],
    "127.0.0.1:4000",
  ],
  [
    "a program, which the SDK knows",
    ["node", path.join(command("run"), "index.js")],
    "127.0.0.1:5000",
  ],
  [
    "a policy pack, which lost its arguments",
    ["node", command("run-policy-pack")],
    "127.0.0.1:6000",
  ],
])("engineOf finds the engine's address for %s", (_what, argv, address) => {
  expect(engineOf(argv, sources)).toBe(address);
});

test.each([
  ["a plugin that the user starts without an engine", ["node", command("run-plugin")]],
  ["the user's own command", ["node", "/srv/deploy.js", "127.0.0.1:4000"]],
])("engineOf finds no engine for %s", (_what, argv) => {
  expect(engineOf(argv, sources)).toBeUndefined();
});
