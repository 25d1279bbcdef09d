import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { CommandProvider } from "../../../providers/command";
import type { Properties, ResourceCall } from "../../../providers/provider";
import { callOf } from "./call";
import { of, refused, taken, types } from "./cases";

// What the real command provider refuses, by its sources: pulumi-command v1.2.1, provider/pkg/provider/local;
// pulumi-go-provider v1.3.0, infer.

const type = types.command;
const directory = mkdtempSync(path.join(tmpdir(), "talos-gpu-command-"));
const provider = new CommandProvider({
  directory,
  environment: { PATH: process.env["PATH"] ?? "" },
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const asked = (inputs: Properties, more?: Partial<ResourceCall>): ResourceCall =>
  callOf(type, inputs, more);

test.each(of("command", refused))("refuses %s", (_rule, _type, inputs, argument) => {
  const { failures } = provider.check(asked(inputs));
  const refusedArguments = failures.map(({ property }) => property.split(".")[0]);
  expect(new Set(refusedArguments)).toEqual(new Set([argument]));
});

test.each(of("command", taken))("takes %s", (_rule, _type, inputs) =>
  expect(provider.check(asked(inputs)).failures).toEqual([]),
);

test.each([
  ["a folder that is not there", "commandOutputs.go: cmd.Dir", { create: "true", dir: "gone" }],
  [
    "an interpreter that is not there",
    "commandOutputs.go: exec",
    { create: "true", interpreter: ["/gone"] },
  ],
  ["a command that fails", "commandOutputs.go", { create: "exit 7" }],
])("fails for %s (%s)", async (_rule, _source, inputs) => {
  await expect(provider.make(asked(inputs))).rejects.toThrow(/running|ENOENT/);
});

// util/util.go, LogOutput: the default of bufio.Scanner; commandOutputs.go waits for it.
test.each([
  ["stderr", "64 KiB"],
  ["stdout", undefined],
  ["none", undefined],
])("a line of stderr with 64 KiB or more, where %s is logged: %s", async (logging, said) => {
  const create = "head -c 65536 /dev/zero | tr '\\0' x >&2; echo done";
  const made = provider.make(asked({ create, logging }));
  if (said === undefined) expect((await made).outputs["stdout"]).toBe("done");
  else await expect(made).rejects.toThrow(said);
});

test("dir is relative to the working directory (commandOutputs.go: cmd.Dir)", async () => {
  const { outputs } = await provider.make(asked({ create: "pwd", dir: ".." }));
  expect(outputs["stdout"]).toBe(path.dirname(directory));
});

test("without create or delete no command runs (commandController.go, Create, Delete)", async () => {
  expect((await provider.make(asked({}))).outputs).toMatchObject({ stdout: "", stderr: "" });
  await provider.delete(asked({}, { id: "id", oldOutputs: { create: "exit 1" } }));
});
