import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { CommandProvider } from "../../../providers/command";
import type { Properties, ResourceCall } from "../../../providers/provider";
import { callOf } from "./call";
import { of, refused, taken, types } from "./cases";

// Inputs that the real command provider refuses, from its sources: pulumi-command v1.2.1,
// provider/pkg/provider/local; pulumi-go-provider v1.3.0, infer.

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

test.each(of("command", taken))("accepts %s", (_rule, _type, inputs) =>
  expect(provider.check(asked(inputs)).failures).toEqual([]),
);

test.each([
  ["a missing folder", "commandOutputs.go: cmd.Dir", { create: "true", dir: "gone" }],
  ["a missing interpreter", "commandOutputs.go: exec", { create: "true", interpreter: ["/gone"] }],
  ["a command that fails", "commandOutputs.go", { create: "exit 7" }],
])("fails with %s (%s)", async (_rule, _source, inputs) => {
  await expect(provider.make(asked(inputs))).rejects.toThrow(/running|ENOENT/);
});

// util/util.go, LogOutput: the default of bufio.Scanner; commandOutputs.go waits for it.
const longLine = "head -c 65536 /dev/zero | tr '\\0' x >&2; echo done";

test("a line of 64 KiB on stderr is refused if logging is stderr", async () => {
  const made = provider.make(asked({ create: longLine, logging: "stderr" }));
  await expect(made).rejects.toThrow("64 KiB");
});

test.each(["stdout", "none"])(
  "a line of 64 KiB on stderr is accepted if logging is %s",
  async (logging) => {
    const { outputs } = await provider.make(asked({ create: longLine, logging }));
    expect(outputs["stdout"]).toBe("done");
  },
);

test("dir is relative to the working directory (commandOutputs.go: cmd.Dir)", async () => {
  const { outputs } = await provider.make(asked({ create: "pwd", dir: ".." }));
  expect(outputs["stdout"]).toBe(path.dirname(directory));
});

test("no command runs if create or delete is not set (commandController.go, Create, Delete)", async () => {
  expect((await provider.make(asked({}))).outputs).toMatchObject({ stdout: "", stderr: "" });
  await provider.delete(asked({}, { id: "id", oldOutputs: { create: "exit 1" } }));
});
