import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { archiveOf } from "../../generate/release/plugin";
import { provideLanguages, provideTools } from "../../lab/tools";
import { homeWithoutLogs } from "../../lab/engine/cli";
import { programOnPath } from "../../lab/on-path";
import { repository } from "../../stacks/stack-file";

// A dry run of the release workflow's own script. Everything that this computer can build is packed once, and
// tested from its user's view.

const run = promisify(execFile);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-release-"));
const release = path.join(folder, "release");
const releasePath = (...names: string[]): string => path.join(release, ...names);
const { version } = JSON.parse(
  fs.readFileSync(path.join(repository, "components/package.json"), "utf8"),
) as { version: string };
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const languages = await provideLanguages();
  const env = { ...process.env, TALOS_GPU_GENERATE_SDK: path.join(languages, "generate-sdk") };
  const dotnet = programOnPath("dotnet") === undefined ? [] : ["dotnet"];
  if (dotnet.length === 0)
    console.warn("the SDK for .NET is not packed: there is no dotnet on PATH");
  const parts = ["package", "policy", "plugin", "python", "go", ...dotnet, "sbom", "checksums"];
  const script = path.join(repository, "generate/release/pack.js");
  await run(process.execPath, [script, release, ...parts], { env, maxBuffer: 2 ** 26 });
});

const plugin = archiveOf(process.platform, process.arch);

test("the release has every file, and SHA256SUMS is right for each", () => {
  const files = fs.readdirSync(release);
  expect(files).toEqual(
    expect.arrayContaining([
      `talos-gpu-${version}.tgz`,
      `talos-gpu-policy-${version}.tgz`,
      `talos-gpu-${version}.cdx.json`,
      `talos-gpu-policy-${version}.cdx.json`,
      `talos-gpu-sdk-go-${version}.tar.gz`,
      `pulumi_talos_gpu-${version}-py3-none-any.whl`,
      plugin,
      "schema.json",
    ]),
  );
  const checksumLines = fs.readFileSync(releasePath("SHA256SUMS"), "utf8").trimEnd().split("\n");
  expect(checksumLines.map((line) => line.split("  ")[1]).sort()).toEqual(
    files.filter((file) => file !== "SHA256SUMS").sort(),
  );
  for (const line of checksumLines) {
    const [sum, file] = line.split("  ");
    expect(
      createHash("sha256")
        .update(fs.readFileSync(releasePath(file!)))
        .digest("hex"),
    ).toBe(sum);
  }
});

test.each([
  ["talos-gpu", ["@pulumi/pulumi", "@grpc/grpc-js", "yaml", "semver"], ["@pulumi/policy"]],
  ["talos-gpu-policy", ["@pulumi/policy", "talos-gpu", "@pulumiverse/talos", "yaml", "zod"], []],
])(
  "the SBOM of %s lists its dependencies, and no development tool",
  (packageName, dependencies, absentPackages) => {
    const { components, metadata } = JSON.parse(
      fs.readFileSync(releasePath(`${packageName}-${version}.cdx.json`), "utf8"),
    ) as {
      components: { name: string; group?: string }[];
      metadata: { component: { name: string } };
    };
    const names = components.map(({ name }) => name);
    expect(metadata.component.name).toBe(packageName);
    expect(names).toEqual(expect.arrayContaining(dependencies));
    for (const name of ["jest", "esbuild", "typescript-eslint", "cli-table3", ...absentPackages])
      expect(names).not.toContain(name);
  },
);

test("the policy pack's tarball has exactly the files that Pulumi runs, without sources", () => {
  const tarball = releasePath(`talos-gpu-policy-${version}.tgz`);
  const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).trim().split("\n");
  expect(files.map((file) => file.replace("package/", "")).sort()).toEqual(
    [
      ...["LICENSE", "PulumiPolicy.yaml", "README.md", "package.json"],
      ...["index", "known", "policies/index", "policies/machines", "policies/pods"].map(
        (name) => `bin/${name}.js`,
      ),
      "bin/policies/policy.js",
    ].sort(),
  );
});

test("the wheel contains the Python SDK of this version", () => {
  const list = execFileSync(
    "python3",
    ["-m", "zipfile", "-l", releasePath(`pulumi_talos_gpu-${version}-py3-none-any.whl`)],
    { encoding: "utf8" },
  );
  expect(list).toContain("pulumi_talos_gpu/gpu_cluster.py");
  expect(list).toContain(`pulumi_talos_gpu-${version}.dist-info/METADATA`);
});

test("Pulumi installs the plugin from a server, and gets its schema without a node_modules folder", async () => {
  const { pulumi } = await provideTools({ only: ["pulumi"] });
  const server = http.createServer((request, response) => {
    const file = releasePath(path.basename(request.url!));
    if (!fs.existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { "content-length": fs.statSync(file).size });
    fs.createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const home = await homeWithoutLogs(path.join(folder, "home"));
    const env = {
      PATH: "/usr/bin:/bin",
      HOME: folder,
      PULUMI_HOME: home,
      PULUMI_SKIP_UPDATE_CHECK: "true",
    };
    const runPulumi = (...args: string[]) =>
      run(pulumi, args, { cwd: folder, env, maxBuffer: 2 ** 26 });
    await runPulumi("plugin", "install", "resource", "talos-gpu", `v${version}`, "--server", url);
    const pluginFolder = path.join(home, "plugins", `resource-talos-gpu-v${version}`);
    expect(fs.existsSync(path.join(pluginFolder, "node_modules"))).toBe(false);
    const { stdout } = await runPulumi("package", "get-schema", `talos-gpu@${version}`);
    const schema = JSON.parse(stdout) as { version: string; resources: object };
    const releasedSchema = JSON.parse(
      fs.readFileSync(releasePath("schema.json"), "utf8"),
    ) as typeof schema;
    expect(schema.version).toBe(version);
    // Pulumi prints the resources in its own order.
    expect(Object.keys(schema.resources).sort()).toEqual(
      Object.keys(releasedSchema.resources).sort(),
    );
  } finally {
    server.close();
  }
});
