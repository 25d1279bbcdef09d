import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { CommandProvider } from "../../providers/command";
import type { CallContext } from "../../providers/serve";
import { UNKNOWN } from "../../providers/serve";
import { gone } from "../../../tests/support/processes";

const type = "command:local:Command";
let directory: string;
let provider: CommandProvider;
let lines: string[];
let abort: AbortController;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "talos-gpu-command-"));
  provider = new CommandProvider({ directory, environment: { PATH: process.env["PATH"] ?? "", BASE: "base" } });
  lines = [];
  abort = new AbortController();
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const context = (): CallContext => ({
  urn: "urn:pulumi:s::p::command:local:Command::say",
  name: "say",
  oldInputs: {},
  oldOutputs: {},
  ignoreChanges: [],
  signal: abort.signal,
  log: (_severity, message) => lines.push(message),
});

const create = (inputs: Record<string, unknown>, timeout = 0) =>
  provider.create(type, inputs, false, "", timeout, context());

test("runs in the program's folder, with the base environment and its own", async () => {
  const { id, outputs } = await create({
    create: 'pwd; echo "$BASE $OWN"; cat; echo oops >&2',
    environment: { OWN: "own" },
    stdin: "in",
  });
  expect(id).toMatch(/^say[0-9a-f]{8}$/);
  expect(outputs).toMatchObject({ stdout: `${directory}\nbase own\nin`, stderr: "oops" });
  expect(lines).toEqual(expect.arrayContaining([directory, "base own", "in", "oops"]));
});

test.each([
  ["none", []],
  ["stdout", ["out"]],
  ["stderr", ["err"]],
])("logging %s", async (logging, expected) => {
  await create({ create: "echo out; echo err >&2", logging });
  expect(lines).toEqual(expected);
});

test("an interpreter takes the command as its last argument", async () => {
  const { outputs } = await create({ create: "console.log(1 + 1)", interpreter: [process.execPath, "-e"] });
  expect(outputs["stdout"]).toBe("2");
});

test("a failing command fails the resource with what it said", async () => {
  await expect(create({ create: "echo before; echo why >&2; exit 3" })).rejects.toThrow(
    /^exit status 3: running "echo before.*":\n(before\nwhy|why\nbefore)\n$/,
  );
});

test("an update runs `update`, or `create` again, and sees the streams of the last time", async () => {
  const olds = { stdout: "old-out", stderr: "old-err" };
  const text = 'echo "$PULUMI_COMMAND_STDOUT $PULUMI_COMMAND_STDERR"';
  const update = async (news: Record<string, unknown>) =>
    (await provider.update(type, "id", olds, news, false, 0, context())).outputs["stdout"];
  expect(await update({ create: "echo create", update: text })).toBe("old-out old-err");
  expect(await update({ create: text })).toBe("old-out old-err");
  expect(await update({ create: text, addPreviousOutputInEnv: false })).toBe(" ");
  expect(await update({ delete: "echo never" })).toBe("old-out");
});

test("delete sees the streams too", async () => {
  const file = path.join(directory, "deleted");
  const state = { delete: `printf "$PULUMI_COMMAND_STDOUT" > ${file}`, stdout: "said" };
  await provider.delete(type, "id", state, 0, context());
  expect(await readFile(file, "utf8")).toBe("said");
});

test("a preview runs nothing and knows no streams", async () => {
  const { outputs } = await provider.create(type, { create: "touch ran" }, true, "", 0, context());
  expect(outputs).toEqual({ create: "touch ran", stdout: UNKNOWN, stderr: UNKNOWN });
  await expect(readFile(path.join(directory, "ran"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("triggers that come or go replace, everything else updates", () => {
  const diff = (news: object) =>
    provider.diff(type, "id", { create: "a", triggers: [1] }, { create: "a", triggers: [1], ...news });
  expect(diff({})).toMatchObject({ changes: false, replaces: [] });
  expect(diff({ create: "b" })).toMatchObject({ changes: true, replaces: [] });
  expect(diff({ triggers: [2] })).toMatchObject({ changes: true, replaces: [] });
  expect(diff({ triggers: [1, UNKNOWN] })).toMatchObject({ changes: true, replaces: [] });
  expect(diff({ triggers: undefined })).toMatchObject({ changes: true, replaces: ["triggers"] });
  // Which is why the SDK says it of every path below: a program's changed trigger replaces.
  expect(readFileSync(require.resolve("@pulumi/command/local/command"), "utf8")).toContain(
    'replaceOnChanges: ["triggers[*]"]',
  );
});

test("inputs that it does not have are refused", () => {
  const { failures } = provider.check(type, {}, { create: 1, assetPaths: [], creates: "", environment: { A: 1 } });
  expect(failures.map(({ property }) => property)).toEqual(["create", "assetPaths", "creates", "environment[A] value"]);
});

test("cancelling ends the whole process group", async () => {
  const running = create({ create: "sleep 60 & echo $!; wait" });
  while (lines.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const grandchild = Number(lines[0]);
  abort.abort();
  await expect(running).rejects.toThrow(/^cancelled running/);
  await gone([grandchild]);
});

test("a limit ends it with the name of the limit", async () => {
  await expect(create({ create: "sleep 60" }, 0.2)).rejects.toThrow("no end within 0.2 s (customTimeouts)");
});
