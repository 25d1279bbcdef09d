import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { CommandProvider } from "../../../providers/command";
import type { Properties, ResourceCall } from "../../../providers/provider";
import { callOf } from "./call";
import { casesOf, refusedCases, acceptedCases, types } from "./cases";

// Inputs that the real command provider refuses, from its sources: pulumi-command v1.2.1,
// provider/pkg/provider/local; pulumi-go-provider v1.3.0, infer.

const type = types.command;
const directory = mkdtempSync(path.join(tmpdir(), "talos-gpu-command-"));
const provider = new CommandProvider({
  directory,
  environment: { PATH: process.env["PATH"] ?? "" },
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A call for a command that does not exist yet. */
const commandCall = (inputs: Properties, overrides?: Partial<ResourceCall>): ResourceCall =>
  callOf(type, inputs, overrides);

test.each(casesOf("command", refusedCases))(
  "the lab's command provider refuses %s",
  (_rule, _type, inputs, argument) => {
    const { failures } = provider.check(commandCall(inputs));
    const refusedArguments = failures.map(({ property }) => property.split(".")[0]);
    expect(new Set(refusedArguments)).toEqual(new Set([argument]));
  },
);

test.each(casesOf("command", acceptedCases))(
  "the lab's command provider accepts %s",
  (_rule, _type, inputs) => expect(provider.check(commandCall(inputs)).failures).toEqual([]),
);

test.each([
  [
    "in a missing folder",
    "commandOutputs.go: cmd.Dir",
    { create: "true", dir: "gone" },
    'spawn /bin/sh ENOENT: running "true":',
  ],
  [
    "with a missing interpreter",
    "commandOutputs.go: exec",
    { create: "true", interpreter: ["/gone"] },
    'spawn /gone ENOENT: running "true":',
  ],
  [
    "with exit status 7",
    "commandOutputs.go",
    { create: "exit 7" },
    'exit status 7: running "exit 7":',
  ],
])("a command %s fails (%s)", async (_fault, _source, inputs, message) => {
  await expect(provider.make(commandCall(inputs))).rejects.toThrow(message);
});

// util/util.go, LogOutput: the default of bufio.Scanner; commandOutputs.go waits for it.
const longLine = "head -c 65536 /dev/zero | tr '\\0' x >&2; echo done";

test("a line of 64 KiB on stderr is refused if logging is stderr", async () => {
  const creation = provider.make(commandCall({ create: longLine, logging: "stderr" }));
  await expect(creation).rejects.toThrow("64 KiB");
});

test.each(["stdout", "none"])(
  "a line of 64 KiB on stderr is accepted if logging is %s",
  async (logging) => {
    const { outputs } = await provider.make(commandCall({ create: longLine, logging }));
    expect(outputs["stdout"]).toBe("done");
  },
);

test("dir is relative to the working directory (commandOutputs.go: cmd.Dir)", async () => {
  const { outputs } = await provider.make(commandCall({ create: "pwd", dir: ".." }));
  expect(outputs["stdout"]).toBe(path.dirname(directory));
});

test("no command runs if create or delete is not set (commandController.go, Create, Delete)", async () => {
  expect((await provider.make(commandCall({}))).outputs).toMatchObject({ stdout: "", stderr: "" });
  await provider.delete(commandCall({}, { id: "id", oldOutputs: { create: "exit 1" } }));
});
