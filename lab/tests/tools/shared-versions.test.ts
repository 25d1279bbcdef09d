import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { catalogue } from "../../tools/catalogue";
import { goEnvironment, oldestGo } from "../../tools/builders/go";
import { copyFolder, writeModule } from "../../tools/builders/module";

const run = promisify(execFile);

/** Versions of the modules that some packages are compiled from, by the modules' paths. */
async function versionsOf(
  packages: string[],
  cwd: string,
  mod: "readonly" | "mod",
): Promise<Map<string, string>> {
  const format =
    "{{with .Module}}{{.Path}} {{with .Replace}}{{.Path}}@{{.Version}}{{else}}{{.Path}}@{{.Version}}{{end}}{{end}}";
  const { stdout } = await run("go", ["list", "-deps", "-f", format, ...packages], {
    cwd,
    env: goEnvironment(process.env, mod),
    maxBuffer: 16 << 20,
  });
  const rows = stdout.split("\n").filter((line) => line.includes(" "));
  return new Map(
    rows.map((line): [string, string] => {
      const [module = "", version = ""] = line.split(" ");
      return [module, version];
    }),
  );
}

test("the machines and Kubernetes' control plane are compiled from the same versions, so that Go compiles each package once", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-versions-"));
  try {
    const tool = catalogue.find(({ name }) => name === "controlplane")!;
    await writeModule(folder, tool.modules!, { go: oldestGo });
    await copyFolder(tool.folder!, folder);
    const machines = await versionsOf(["."], path.join(__dirname, "../../machines"), "readonly");
    const controlPlane = await versionsOf([tool.package], folder, "mod");
    const shared = [...machines].filter(([module]) => controlPlane.has(module));
    expect(shared.length).toBeGreaterThan(20);
    expect(shared.filter(([module, version]) => controlPlane.get(module) !== version)).toEqual([]);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
