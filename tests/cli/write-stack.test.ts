import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse } from "yaml";
import { importFiles } from "../../cli/import/verb";
import { runVerb } from "./support";

// The file that `import` writes in a user's project, and which entries it keeps in a file that Pulumi has made.

const previousFolder = process.cwd();
let folder: string;
beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "write-stack-")));
  fs.writeFileSync(path.join(folder, "Pulumi.yaml"), "name: gpus\nruntime: nodejs\n");
  const talconfig = "talosVersion: v1.13.6\nnodes: [{ hostname: gpu, ipAddress: 192.0.2.1 }]\n";
  fs.writeFileSync(path.join(folder, "talconfig.yaml"), talconfig);
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(previousFolder);
  fs.rmSync(folder, { recursive: true });
});

const runImport = (argv: string[] = [], environment: NodeJS.ProcessEnv = {}) =>
  runVerb("import", importFiles, ["talconfig.yaml", "--gpu", "gpu=RTX 3060", ...argv], environment);
const readStack = (): { config: Record<string, unknown> } =>
  parse(fs.readFileSync("Pulumi.dev.yaml", "utf8")) as { config: Record<string, unknown> };
const selectedStack = { PULUMI_STACK: "me/gpus/dev" };

/** A stack file after `pulumi new`, with a passphrase, a secret and a key of another provider. */
const initialStack = `# A comment.
encryptionsalt: v1:abc
config:
  aws:region: eu-north-1
  talos-gpu:talosVersion: v1.12.6
  talos-gpu:talosconfig:
    secure: v1:def
`;

test("import writes the file of the selected stack, and keeps Pulumi's entries in it", async () => {
  fs.writeFileSync("Pulumi.dev.yaml", initialStack);
  const { status, remarks } = await runImport([], selectedStack);
  expect(status).toBe(0);
  expect(remarks.at(-1)).toBe(
    "Wrote Pulumi.dev.yaml. Next, see its effect: npx talos-gpu plan; then pulumi preview",
  );
  expect(readStack()).toMatchObject({
    encryptionsalt: "v1:abc",
    config: {
      "aws:region": "eu-north-1",
      "talos-gpu:talosconfig": { secure: "v1:def" },
      "talos-gpu:talosVersion": "v1.13.6",
      "talos-gpu:machines": { gpu: { address: "192.0.2.1" } },
    },
  });
});

test("a file larger than the reading limit is not overwritten", async () => {
  fs.writeFileSync("Pulumi.dev.yaml", `# ${"x".repeat(1024 * 1024)}\n`);
  await expect(runImport(["--out", "Pulumi.dev.yaml"])).rejects.toThrow("already exists");
});

test.each([
  ["comments alone", "# Nothing yet.\n"],
  ["an empty config", "config: {}\n"],
  ["a config without a value", "config:\n"],
])("a stack file of %s is filled in", async (_, text) => {
  fs.writeFileSync("Pulumi.dev.yaml", text);
  await runImport([], selectedStack);
  expect(readStack().config).toMatchObject({ "talos-gpu:machines": expect.anything() as unknown });
});

test.each([
  ["machines", "config:\n  talos-gpu:machines: { a: {} }\n"],
  ["pools", "config:\n  talos-gpu:pools: { a: {} }\n"],
  ["invalid YAML", "config: [\n"],
  ["a list as content", "[]\n"],
])("a stack file with %s is overwritten only with --force", async (_, text) => {
  fs.writeFileSync("Pulumi.dev.yaml", text);
  await expect(runImport(["--stack", "dev"])).rejects.toThrow(
    /Pulumi\.dev\.yaml already exists and was not overwritten/,
  );
  expect(fs.readFileSync("Pulumi.dev.yaml", "utf8")).toBe(text);
  const { stdout } = await runImport([], selectedStack); // `selected` is not an explicit name of the stack
  expect(stdout).toContain("talos-gpu:machines:");
  await runImport(["--stack", "dev", "--force"]);
  expect(readStack().config).toMatchObject({
    "talos-gpu:machines": { gpu: expect.anything() as unknown },
  });
});

test("--force keeps the salt and the credentials of an existing stack", async () => {
  fs.writeFileSync("Pulumi.dev.yaml", `${initialStack}  talos-gpu:machines: { old: {} }\n`);
  await runImport(["--stack", "dev", "--force"]);
  expect(readStack()).toMatchObject({
    encryptionsalt: "v1:abc",
    config: { "talos-gpu:talosconfig": { secure: "v1:def" } },
  });
  expect(JSON.stringify(readStack())).not.toContain("old");
});

test("--stack NAME writes the file that Pulumi reads, and prints a next command that creates the stack", async () => {
  fs.writeFileSync("Pulumi.yaml", "name: gpus\nruntime: nodejs\nstackConfigDir: clusters\n");
  const { remarks } = await runImport(["--stack", "dev"]);
  expect(remarks.at(-1)).toBe(
    "Wrote clusters/Pulumi.dev.yaml. Next, see its effect: npx talos-gpu plan --stack dev; " +
      "then pulumi stack init dev && pulumi preview -s dev",
  );
  expect(fs.existsSync("clusters/Pulumi.dev.yaml")).toBe(true);
});
