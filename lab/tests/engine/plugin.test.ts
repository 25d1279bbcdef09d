import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { assertInstalled } from "../../cluster/installed-plugins";
import { LabEngine } from "../../engine";
import { provideTools } from "../../tools";
import { untilSeen } from "../../until";
import { installPlugins, pluginsAlive } from "../../../tests/support/plugins";

// What `--pulumi installed` hangs on, with a plugin that is the lab's own provider as a program: the engine finds it on PATH, starts
// it, reads where it listens, and ends it.

jest.setTimeout(300_000);

const folder = fs.mkdtempSync(path.join(tmpdir(), "talos-gpu-plugin-"));
let binary: string;
let environment: Record<string, string>;

beforeAll(async () => {
  binary = (await provideTools({ only: ["pulumi"] })).pulumi;
  environment = installPlugins(folder, ["command"]);
}, 1_800_000);

afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const program = (): Promise<Record<string, unknown>> => {
  const said = new command.local.Command("said", {
    create: 'pwd; echo "${#WORD}"; cat',
    stdin: "in",
    environment: { WORD: pulumi.secret("hunter2hunter2") },
  });
  return Promise.resolve({ said: said.stdout });
};

const isEmpty = (list: readonly unknown[]): boolean => list.length === 0;

const open = (name: string, more: Record<string, string> = {}): Promise<LabEngine> =>
  LabEngine.open({
    ...{ pulumi: binary, dir: path.join(folder, name), project: "trial", stack: name, program, plugins: "real" },
    environment: { ...environment, ...more },
  });

test("the engine starts a plugin on PATH: made, unchanged, gone; a secret stays one, and the program ends", async () => {
  await assertInstalled(binary, [{ name: "command", version: "1.2.1" }], environment);
  const engine = await open("there");
  const first = await engine.up();
  expect(first).toMatchObject({ result: "succeeded" });
  const [where, ...rest] = String(first.outputs["said"]?.value).split("\n");
  expect(rest).toEqual(["14", "in"]);
  expect(await engine.stateText()).not.toContain("hunter2hunter2");
  // Under the Automation API a plugin's working directory is the engine's.
  expect(fs.realpathSync(where!)).toBe(fs.realpathSync(path.join(folder, "there")));
  expect(await engine.preview()).toMatchObject({ changes: { create: 0, update: 0, replace: 0, delete: 0 } });
  expect(await engine.destroy()).toMatchObject({ result: "succeeded" });
  await untilSeen("the plugin has ended", { seconds: 5, every: 50 }, () => pluginsAlive(folder), isEmpty);
});

test("without it the engine says which is missing, and so did we", async () => {
  const without = { ...environment, PATH: process.env["PATH"] ?? "" };
  const needed = [{ name: "command", version: "1.2.1" }];
  await expect(assertInstalled(binary, needed, without)).rejects.toThrow("command 1.2.1 not installed");
  const failed = await (await open("missing", { PATH: without.PATH })).up();
  expect(failed.result).toBe("failed");
  expect(failed.diagnostics.join("\n")).toContain(
    "no resource plugin 'pulumi-resource-command' found in the workspace at version v1.2.1 or on your $PATH",
  );
});
