import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as semver from "semver";
import { repository } from "../../stacks/stack-file";

// The packages that npm would publish, packed once and tested from the consumer's view: unpacked in an empty
// folder, with only the dependencies that they declare. npm's registry has the published `@pulumiverse/talos`, but
// the registry that builds this project does not. So sdk/talos is packed in its place, with the name and version
// that the package declares.

interface Manifest {
  version: string;
  main: string;
  types: string;
  bin: Record<string, string>;
  dependencies: Record<string, string>;
}

const talos = "@pulumiverse/talos";
const readManifest = (...parts: string[]): Manifest =>
  JSON.parse(fs.readFileSync(path.join(...parts), "utf8")) as Manifest;
const manifest = readManifest(repository, "components/package.json");

let consumer: string;
let tarball: string;
const consumerPath = (...parts: string[]): string => path.join(consumer, ...parts);
const packagePath = (...parts: string[]): string =>
  consumerPath("node_modules", "talos-gpu", ...parts);

/** Runs a program in the consumer's folder, from which it finds no other packages. */
function run(program: string, ...args: string[]): { status: number | null; output: string } {
  const { NODE_PATH: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: consumer,
    encoding: "utf8",
    env: { ...env, NO_COLOR: "1" },
  });
  return { status, output: `${stdout}${stderr}` };
}
const modulePath = (file: string): string => path.join(repository, "node_modules", file);

/** Packs a workspace, and unpacks it into the consumer's folder. */
function packAndUnpack(folder: string, name: string): string {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", consumer];
  const { stdout } = spawnSync("npm", args, {
    cwd: path.join(repository, folder),
    encoding: "utf8",
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  fs.mkdirSync(consumerPath("node_modules", name), { recursive: true });
  spawnSync("tar", [
    "-xzf",
    consumerPath(filename),
    "-C",
    consumerPath("node_modules", name),
    "--strip-components=1",
  ]);
  return consumerPath(filename);
}

beforeAll(() => {
  consumer = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-consumer-"));
  tarball = packAndUnpack("components", "talos-gpu");
  packAndUnpack("sdk/talos", talos);
  const dependencies = Object.keys(manifest.dependencies).filter((name) => name !== talos);
  for (const name of [...dependencies, "@types/node"]) {
    fs.mkdirSync(path.dirname(consumerPath("node_modules", name)), { recursive: true });
    const componentsModule = path.join(repository, "components/node_modules", name); // exists if its release differs
    fs.symlinkSync(
      fs.existsSync(componentsModule) ? componentsModule : modulePath(name),
      consumerPath("node_modules", name),
    );
  }
});
afterAll(() => fs.rmSync(consumer, { recursive: true }));

test("the packed package contains every file that it needs, and no file of another kind", () => {
  const files = fs
    .readdirSync(packagePath(), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(packagePath(), path.join(entry.parentPath, entry.name)));
  const { main, types, bin } = manifest;
  const neededFiles = [
    main,
    types,
    ...Object.values(bin),
    "bin/program.js",
    "bin/stack/index.js",
    "bin/stack.schema.json",
    "bin/schema.json",
    "bin/cluster-objects.js",
  ];
  expect(files).toEqual(
    expect.arrayContaining([...neededFiles, "PulumiPlugin.yaml", "LICENSE", "README.md"]),
  );
  const allowedFiles =
    /^(?:bin\/.+\.(?:js|d\.ts|json)|cli\.js|PulumiPlugin\.yaml|package\.json|LICENSE|README\.md)$/;
  expect(files.filter((file) => !allowedFiles.test(file))).toEqual([]);
  // Every file that built code requires by a relative path is in the package.
  const missing: string[] = [];
  for (const file of files.filter((name) => /^bin\/(?!cli\.js).+\.js$/.test(name))) {
    const text = fs.readFileSync(packagePath(file), "utf8");
    for (const [, name] of text.matchAll(/require\("(\.{1,2}\/[^"]+)"\)/g)) {
      const required = path.posix.join(path.posix.dirname(file), name!);
      const candidates = [required, `${required}.js`, `${required}/index.js`];
      if (!candidates.some((candidate) => files.includes(candidate)))
        missing.push(`${file}: ${name}`);
    }
  }
  expect(missing).toEqual([]);
});

// pulumi-talos 0.8.1 and 0.9.0a1791550815 (Python's index, 2026-10) have the same resources. npm spells the second
// version in this way.
test.each([
  [
    "the release that sdk/talos stands in for",
    readManifest(repository, "sdk/talos/package.json").version,
    true,
  ],
  ["the pre-release with the same resources", "0.9.0-alpha.1791550815", true],
  ["the minor after it, which no test has compared", "0.10.0", false],
])(
  "the packed package's range for the Talos provider's SDK includes %s, %s: %s",
  (_, version, isIncluded) => {
    expect(semver.satisfies(version, manifest.dependencies[talos]!)).toBe(isIncluded);
  },
);

test("publint reports nothing about the packed package", () => {
  expect(run(modulePath("publint/src/cli.js"), "run", tarball, "--strict")).toEqual({
    status: 0,
    output: expect.stringContaining("All good!") as unknown,
  });
});

test("are-the-types-wrong reports no problem of the packed package", () => {
  const checkTypes = `
    import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
    import { readFileSync } from "node:fs";
    const excludeEntrypoints = ["./bin/program.js"]; // no program imports this program
    const { types, entrypoints, problems } = await checkPackage(
      createPackageFromTarballData(readFileSync(process.argv[1])), { excludeEntrypoints });
    console.log(JSON.stringify({ types: types.kind, entrypoints: Object.keys(entrypoints), problems }));`;
  const args = ["--input-type=module", "--eval", checkTypes, tarball];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: repository,
    encoding: "utf8",
  });
  expect({ output: JSON.parse(stdout || "{}") as object, stderr }).toEqual({
    output: {
      types: "included",
      entrypoints: [".", "./stack.js", "./bin/pulumi/engine-gone.js", "./package.json"],
      problems: [],
    },
    stderr: "",
  });
});

test("require returns the plugin's server for the package's folder, and the components for the package's name", () => {
  const printTypes =
    "console.log(typeof require('./node_modules/talos-gpu'), typeof require('talos-gpu').GpuCluster)";
  fs.writeFileSync(consumerPath("both.js"), printTypes);
  expect(run("both.js")).toEqual({ status: 0, output: "function function\n" });
});

test("the package's command runs without any dependency", () => {
  fs.mkdirSync(consumerPath("alone"));
  fs.copyFileSync(packagePath("bin/cli.js"), consumerPath("alone/cli.js"));
  expect(run("alone/cli.js", "doctor", "--help")).toMatchObject({
    status: 0,
    output: expect.stringContaining("--talosconfig FILE") as unknown,
  });
  expect(run("alone/cli.js", "docter")).toMatchObject({
    status: 2,
    output: expect.stringContaining("docter: is no verb") as unknown,
  });
});

test("the package's command imports a stack that names the packed schema, and plans it", () => {
  const talconfig = path.join(repository, "tests/fixtures/talhelper/talconfig.yaml");
  const importResult = run(
    packagePath("bin/cli.js"),
    "import-talhelper",
    talconfig,
    "--gpu",
    "velaryon=RTX 2070 SUPER",
    "--out",
    "Pulumi.mine.yaml",
  );
  expect(importResult.status).toBe(0);
  const [, schema] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(
    fs.readFileSync(consumerPath("Pulumi.mine.yaml"), "utf8"),
  )!;
  expect(fs.realpathSync(consumerPath(schema!))).toBe(
    fs.realpathSync(packagePath("bin/stack.schema.json")),
  );
  expect(run(packagePath("bin/cli.js"), "plan", "--stack", "mine").output).toContain(
    "## Plan of mine",
  );
});

// Registers everything with the SDK's mocks, as a consumer's unit test does. Pulumi treats this as a preview.
const previewProgram = `import * as pulumi from "@pulumi/pulumi";

const types: string[] = [];
pulumi.runtime.setAllConfig({ "gpus:kubeconfig": "", "gpus:talosconfig": "context: a" });
pulumi.runtime.setMocks(
  {
    newResource: ({ type, name, inputs }) => {
      types.push(type);
      return { id: name, state: inputs };
    },
    call: ({ inputs }) => inputs,
  },
  "gpus",
  "dev",
  true,
);
void import("./compose.js").then(() => pulumi.runtime.disconnect()).then(() => console.log(JSON.stringify(types)));
`;

test("a user's program compiles with the packed package, and its preview has the cluster, its machine, the chart and the workloads", () => {
  fs.copyFileSync(path.join(repository, "examples/compose/index.ts"), consumerPath("compose.ts"));
  fs.writeFileSync(consumerPath("index.ts"), previewProgram);
  fs.writeFileSync(consumerPath("package.json"), JSON.stringify({ name: "gpus", private: true }));
  const { compilerOptions } = JSON.parse(
    fs.readFileSync(path.join(repository, "examples/compose/tsconfig.json"), "utf8"),
  ) as { compilerOptions: object };
  const tsconfig = {
    compilerOptions: { ...compilerOptions, preserveSymlinks: false },
    files: ["index.ts", "compose.ts"],
  };
  fs.writeFileSync(consumerPath("tsconfig.json"), JSON.stringify(tsconfig));
  expect(run(modulePath("typescript/bin/tsc"), "-p", ".")).toEqual({ status: 0, output: "" });
  const previewResult = run("bin/index.js");
  expect(previewResult.status).toBe(0);
  expect(JSON.parse(previewResult.output.trim().split("\n").at(-1)!)).toEqual(
    expect.arrayContaining([
      "talos-gpu:index:GpuCluster",
      "talos-gpu:index:GpuMachine",
      "talos:imageFactory/schematic:Schematic",
      "kubernetes:helm.sh/v3:Release",
      "kubernetes:batch/v1:Job",
      "talos-gpu:index:Ollama",
      "kubernetes:apps/v1:Deployment",
    ]),
  );
});
