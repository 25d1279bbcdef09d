import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse } from "yaml";
import { provideLanguages } from "../../../lab/tools";
import { repository } from "../../../stacks/stack-file";
import { generateSdk, publishedSchema, sdkLanguages } from "../../support/packages/generated-sdk";
import { packWorkspace, type Registry, serveRegistry } from "../../support/packages/registry";
import { startPreviewTestBed, type PreviewTestBed } from "../runs/preview-test-bed";

// What a user sees in an empty folder outside the clone: the template as Pulumi's own command copies it, the
// package as npm installs it, and the preview of an imported stack by the real CLI. tests/sdk/own-folder.test.ts
// has the other tests of such a folder.

const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-own-pulumi-")));
const folder = path.join(home, "gpus");
let languages: string;
let testBed: PreviewTestBed;
let registry: Registry;
beforeAll(async () => {
  languages = await provideLanguages();
  process.env["PATH"] = [languages, process.env["PATH"]].join(path.delimiter); // Pulumi's YAML host
  testBed = await startPreviewTestBed();
  registry = await serveRegistry([
    packWorkspace("components", home),
    packWorkspace("sdk/talos", home),
  ]);
});
afterAll(async () => {
  registry?.close();
  await testBed?.close();
  fs.rmSync(home, { recursive: true, force: true });
});

/** Runs a command in the folder until it ends, and returns its output. */
async function run(line: string): Promise<string> {
  const npm = {
    npm_config_registry: registry.url,
    npm_config_cache: path.join(home, "npm"),
    npm_config_audit: "false",
  };
  const env = { ...process.env, ...npm, PULUMI_STACK: "dev" };
  let output = "";
  const child = spawn("sh", ["-c", line], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const status = await new Promise<number | null>((resolve) => void child.once("close", resolve));
  if (status !== 0) throw new Error(`${line}: ${status}: ${output}`);
  return output;
}

test("pulumi new copies the template, and prints the next steps", async () => {
  const template = path.join(repository, "templates/talos-gpu-typescript");
  const output = await testBed.runPulumi(
    "new",
    template,
    "--dir",
    folder,
    "--generate-only",
    "--yes",
  );
  expect(output).toMatch(/npx talos-gpu import .*\n.*npx talos-gpu plan --stack mine\n/);
  const project = fs.readFileSync(path.join(folder, "Pulumi.yaml"), "utf8");
  expect(parse(project)).toMatchObject({ name: "gpus", runtime: { name: "nodejs" } });
  expect(project).not.toContain("quickstart");
  expect(fs.readFileSync(path.join(folder, "package.json"), "utf8")).toContain('"name": "gpus"');
});

test("an imported stack can be previewed with the template's program", async () => {
  await run("npm install");
  const talconfig = path.join(repository, "tests/fixtures/talhelper/talconfig.yaml");
  await run(`npx talos-gpu import ${talconfig} --gpu 'velaryon=RTX 2070 SUPER'`);
  await run("npx talos-gpu plan");
  const { config } = parse(fs.readFileSync(path.join(folder, "Pulumi.dev.yaml"), "utf8")) as {
    config: object;
  };
  const { result, diagnostics, creates } = await testBed.previewProject({
    absoluteFolder: folder,
    name: "gpus",
    stack: "dev",
    namespace: "talos-gpu",
    config: config as Record<string, unknown>,
  });
  expect(diagnostics.filter((line) => line.startsWith("error"))).toEqual([]);
  expect(result).toBe("succeeded");
  expect(creates).toContain("talos-gpu:index:GpuMachine dev-velaryon");
});

test.each([
  ["the folder of a clone", () => path.join(testBed.checkout, "components")],
  [
    "the folder that npm installed from the tarball",
    () => path.join(folder, "node_modules/talos-gpu"),
  ],
])(
  "a YAML program adds %s as a package, and its SDKs equal those of sdk/schema.json",
  async (name, source) => {
    const yaml = path.join(home, name.replaceAll(" ", "-"));
    fs.mkdirSync(yaml);
    fs.writeFileSync(path.join(yaml, "Pulumi.yaml"), "name: gpus\nruntime: yaml\n");
    await testBed.runPulumi("-C", yaml, "package", "add", source());
    const project = parse(fs.readFileSync(path.join(yaml, "Pulumi.yaml"), "utf8")) as {
      packages: object;
    };
    expect(Object.keys(project.packages)).toEqual(["talos-gpu"]);
    const schema = path.join(yaml, "schema.json");
    fs.writeFileSync(
      schema,
      await testBed.runPulumi("-C", yaml, "package", "get-schema", source()),
    );
    for (const language of sdkLanguages)
      expect(await generateSdk({ schema, language, languages })).toEqual(
        await generateSdk({ schema: publishedSchema, language, languages }),
      );
  },
);
