import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../../../cli/check/verb";
import { talosDocuments } from "../../../components/recipe/rules/yaml";
import { cliStand, runVerb } from "../stand";

const stand = cliStand();

function written(name: string, text: string): string {
  const file = path.join(stand.folder, name);
  fs.writeFileSync(file, text);
  return file;
}

const many = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("");

/** Files of less than 1 MiB, each of which held the command for 40 seconds and more. */
const tooMany: Record<string, string> = {
  modules: `machine:\n  kernel:\n    modules:\n${many(30_000, (index) => `      - name: nvidia${index}\n`)}`,
  extensions: `customization:\n  systemExtensions:\n    officialExtensions:\n${many(28_000, (index) => `      - siderolabs/nvidia-${index}\n`)}`,
  labels: `machine:\n  nodeLabels:\n${many(25_000, (index) => `    nvidia.com/mig.config${index}: x\n`)}`,
  documents: many(
    7_000,
    (index) =>
      `---\nkind: HelmRelease\nmetadata: {name: nvidia${index}}\nspec: {chart: {spec: {chart: gpu-operator}}}\n`,
  ),
};

test.each(Object.entries(tooMany))(
  "a file with too many %s is refused before they are compared",
  async (name, text) => {
    const { status, remark } = await runVerb("check", check, [written(`${name}.yaml`, text)]);
    expect({ status, remark }).toEqual({
      status: 2,
      remark: expect.stringMatching(
        /is not looked at: it has more than 10000 entries, .*; give the parts of it that matter$/,
      ),
    });
  },
);

test("each of many findings of one file has its own line", async () => {
  const extensions = many(600, (index) => `      - siderolabs/nvidia-unheard-of-${index}\n`);
  const file = written("some.yaml", `customization:\n  systemExtensions:\n    officialExtensions:\n${extensions}`);
  const { result } = await runVerb("check", check, [file, "--json"]);
  const { findings } = JSON.parse(result) as { findings: { line: number; problem: string }[] };
  const unheard = findings.filter(({ problem }) => problem.includes("there is no official extension"));
  expect(unheard).toHaveLength(600);
  for (const { line, problem } of unheard) expect(line).toBe(4 + Number(/unheard-of-(\d+)/.exec(problem)![1]));
});

test("a key that stands twice is told with its place", () => {
  const messages = (text: string): string[] =>
    talosDocuments(text).flatMap(({ errors }) => errors.map(({ message }) => message));
  expect(messages("machine:\n  env: {}\n  env: {}\n")).toEqual(["Map keys must be unique at line 3, column 3:"]);
  expect(messages("a: {x: 1}\nb: {x: 1}\n1: x\n'1': y\n")).toEqual([]);
});

test("SIGTERM ends the command while it is busy", async () => {
  const patches = many(
    8_000,
    (index) =>
      `      - |-\n        machine:\n          kernel:\n            modules:\n              - name: nvidia${index}\n`,
  );
  const file = written("talconfig.yaml", `nodes:\n  - hostname: n\n    ipAddress: 10.0.0.1\n    patches:\n${patches}`);
  const command = spawn(process.execPath, [stand.cli, "check", file], { stdio: "ignore" });
  await sleep(2_000);
  expect(command.exitCode).toBeNull();
  command.kill("SIGTERM");
  const [status, signal] = (await Promise.race([
    once(command, "exit"),
    sleep(5_000, ["busy"], { ref: false }),
  ])) as unknown[];
  command.kill("SIGKILL");
  expect([status, signal]).toEqual([null, "SIGTERM"]);
});
