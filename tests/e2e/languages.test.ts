import { spawn } from "node:child_process";
import * as path from "node:path";
import type { RunResult } from "../../lab/engine";
import type { YamlRun } from "./yaml-run";

const repository = path.resolve(__dirname, "../..");

test(
  "examples/yaml: the real CLI and Pulumi's YAML host bring the package up as a plugin, find it unchanged, and take it down",
  async () => {
    const { first, second, destroyed, nodes } = await runYaml();
    expect([first, second, destroyed].map(told)).toEqual([["succeeded"], ["succeeded"], ["succeeded"]]);
    expect(first.outputs["pod"]?.value).toBe("test");
    expect(first.outputs["machines"]?.value).toMatchObject({
      "gpu-1": { driverVersion: expect.any(String) as unknown },
    });
    expect(nodes).toContain("gpu-1");
    expect(second.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
  },
  10 * 60_000,
);

const told = ({ result, diagnostics }: RunResult): string[] => [
  result,
  ...diagnostics.filter((line) => line.startsWith("error")),
];

/** In a process of its own: what it starts ends with it. */
function runYaml(): Promise<YamlRun> {
  const child = spawn(process.execPath, ["lab/bundle/run.js", "tests/e2e/yaml-run.ts"], { cwd: repository });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) =>
    child.on("close", (status) => {
      if (status === 0) resolve(JSON.parse(Buffer.concat(stdout).toString("utf8")) as YamlRun);
      else reject(new Error(`exit status ${status}: ${Buffer.concat(stderr).toString("utf8").slice(-6000)}`));
    }),
  );
}
