import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { builtTool } from "../built-tool";

// The page on troubleshooting says what to do with a state that was cut off while it was written; the real CLI is the judge.

const pulumi = builtTool("pulumi");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "cut-off-test-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const run = (...args: string[]): string =>
  execFileSync(pulumi!, args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      PULUMI_BACKEND_URL: `file://${folder}`,
      PULUMI_CONFIG_PASSPHRASE: "x",
      PULUMI_SKIP_UPDATE_CHECK: "true",
    },
  });

(pulumi === undefined ? test.skip : test)(
  "a state that was cut off is said so, and its copy beside it is the one before",
  () => {
    fs.writeFileSync(path.join(folder, "Pulumi.yaml"), "name: p\nruntime: yaml\n");
    run("stack", "init", "a");
    fs.writeFileSync(path.join(folder, "state.json"), run("stack", "export"));
    run("stack", "import", "--file", "state.json");
    const state = path.join(folder, ".pulumi/stacks/p/a.json");
    fs.truncateSync(state);
    expect(() => run("stack", "export")).toThrow(/failed to load checkpoint: .*unexpected end of JSON input/);
    fs.copyFileSync(`${state}.bak`, state);
    expect(JSON.parse(run("stack", "export"))).toMatchObject({ version: 3 });
  },
  60_000,
);
