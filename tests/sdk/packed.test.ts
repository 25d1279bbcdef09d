import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { repository } from "../../stacks/stack-file";

const folder = path.join(repository, "components");

/** Files of the tarball that npm would publish. */
function packed(): string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const text = execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [{ files }] = JSON.parse(text) as [{ files: { path: string }[] }];
  return files.map((file) => file.path).sort();
}

test("the packed package holds what a consumer needs, and nothing else", () => {
  const files = packed();
  const { main, types, bin } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")) as {
    main: string;
    types: string;
    bin: Record<string, string>;
  };
  const needed = [main, types, ...Object.values(bin), "bin/program.js", "PulumiPlugin.yaml", "LICENSE", "README.md"];
  expect(files).toEqual(expect.arrayContaining(needed));
  const own = /^(?:bin\/.+\.(?:js|d\.ts|json)|PulumiPlugin\.yaml|package\.json|LICENSE|README\.md)$/;
  expect(files.filter((file) => !own.test(file))).toEqual([]);
  // What built code requires by a relative path is packed beside it.
  const missing = files
    .filter((file) => /^bin\/(?!cli\.js|program\.js).+\.js$/.test(file))
    .flatMap((file) =>
      [...fs.readFileSync(path.join(folder, file), "utf8").matchAll(/require\("(\.{1,2}\/[^"]+)"\)/g)].map(
        ([, name]) => {
          const at = path.posix.join(path.posix.dirname(file), name!);
          return [at, `${at}.js`, `${at}/index.js`].some((one) => files.includes(one)) ? undefined : `${file}: ${name}`;
        },
      ),
    )
    .filter((one) => one !== undefined);
  expect(missing).toEqual([]);
}, 120_000);

test("what was packed loads, and its command runs, from where it is installed", () => {
  const consumer = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-consumer-"));
  try {
    const modules = path.join(consumer, "node_modules");
    const installed = path.join(modules, "talos-gpu");
    fs.mkdirSync(installed, { recursive: true });
    execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", consumer], { cwd: folder, stdio: "ignore" });
    const [tarball] = fs.readdirSync(consumer).filter((file) => file.endsWith(".tgz"));
    execFileSync("tar", ["-xzf", path.join(consumer, tarball!), "-C", installed, "--strip-components=1"]);
    const run = (...args: string[]): string =>
      execFileSync(process.execPath, args, {
        cwd: consumer,
        encoding: "utf8",
        // Its dependencies are those of this repository; `@pulumiverse/talos` is the stand-in of sdk/talos.
        env: { ...process.env, NODE_PATH: path.join(repository, "node_modules") },
      });
    expect(run("-p", 'Object.keys(require("talos-gpu")).sort().join()')).toContain("ComfyUi,GpuCluster,GpuMachine");
    expect(run(path.join(installed, "bin/cli.js"), "doctor", "--help")).toContain("--kubeconfig");
  } finally {
    fs.rmSync(consumer, { recursive: true });
  }
}, 120_000);
