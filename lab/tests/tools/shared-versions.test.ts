import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { catalogue, languageTool } from "../../tools/catalogue";
import type { ToolDefinition } from "../../tools/definition";
import { makeOwnModule } from "../../tools/builders/build";
import { goEnvironment } from "../../tools/builders/go";

const run = promisify(execFile);

/** A package that a tool is compiled from, with facts from `go list`. */
interface Package {
  module: string;
  /**
   * Version of its module and the module's replacement: with `-trimpath` Go compiles a replaced version again. A
   * changed module, or the tool's own, has no version, so this is the sizes of its files.
   */
  version: string;
  imports: string[];
}

const format =
  "{{.ImportPath}}|{{with .Module}}{{.Path}}|{{.Version}}{{with .Replace}}={{.Path}}@{{.Version}}{{end}}{{else}}|std{{end}}" +
  '|{{.Dir}}|{{join .GoFiles ","}},{{join .SFiles ","}},{{join .EmbedFiles ","}}|{{join .Imports ","}}';

/** The packages of a tool, by import path. `workFolder` is for the module of a tool without sources of its own. */
async function packagesOf(tool: ToolDefinition, workFolder: string): Promise<Map<string, Package>> {
  const cwd = tool.modules
    ? await makeOwnModule(tool, tool.modules, workFolder, process.env)
    : tool.folder!;
  const { stdout } = await run(
    "go",
    ["list", "-deps", "-f", format, tool.package, ...(tool.more ?? [])],
    {
      cwd,
      env: goEnvironment(process.env, tool.modules ? "mod" : "readonly"),
      maxBuffer: 64 << 20,
    },
  );
  const splitList = (text: string): string[] => text.split(",").filter((item) => item !== "");
  return new Map(
    stdout
      .trim()
      .split("\n")
      .map((line): [string, Package] => {
        const [name = "", module = "", version = "", dir = "", files = "", imports = ""] =
          line.split("|");
        const sizes = splitList(files).map(
          (file) => `${file} ${fs.statSync(path.join(dir, file)).size}`,
        );
        const isLocal = version === "" || version.endsWith("@");
        return [
          name,
          { module, version: isLocal ? sizes.join() : version, imports: splitList(imports) },
        ];
      }),
  );
}

/** A number for each text. A signature then has its imports' numbers instead of their whole texts. */
const numbers = new Map<string, number>();

function numberOf(text: string): number {
  const number = numbers.get(text) ?? numbers.size;
  numbers.set(text, number);
  return number;
}

/**
 * A signature of each package. If two are equal, Go compiles the package once: they have the same sources and
 * imports.
 */
function signatures(packages: Map<string, Package>): Map<string, number> {
  const signatureByName = new Map<string, number>();
  const signatureOf = (name: string): number => {
    const known = signatureByName.get(name);
    if (known !== undefined) return known;
    const { version, imports } = packages.get(name)!;
    const importedPackages = imports
      .map((imported) => (packages.has(imported) ? imported : `vendor/${imported}`)) // the standard library's copies
      .filter((imported) => packages.has(imported));
    const number = numberOf([name, version, ...importedPackages.map(signatureOf)].join("\n"));
    signatureByName.set(name, number);
    return number;
  };
  for (const name of packages.keys()) signatureOf(name);
  return signatureByName;
}

/**
 * Modules whose packages Go compiles once more for a tool. The emulated machines read configurations with the
 * machinery of Talos 1.14, and talosctl has 1.13's. The CLI is built from changed packages of Pulumi, and the
 * provider and the generators from unchanged ones.
 */
const modulesCompiledAgain: Readonly<Record<string, readonly string[]>> = {
  machines: [
    "github.com/cosi-project/runtime",
    "github.com/google/go-containerregistry",
    "github.com/jsimonetti/rtnetlink/v2",
    "github.com/mdlayher/ethtool",
    "github.com/mdlayher/genetlink",
    "github.com/mdlayher/netlink",
    "github.com/mdlayher/socket",
    "github.com/planetscale/vtprotobuf",
    "github.com/siderolabs/gen",
    "github.com/siderolabs/talos/pkg/machinery",
    "go.yaml.in/yaml/v4",
  ],
  languages: ["github.com/pulumi/pulumi/pkg/v3"],
  lws: ["k8s.io/component-helpers"],
  "pulumi-resource-kubernetes": ["github.com/pulumi/pulumi/pkg/v3"],
};

// Runs only `go list`, and builds nothing.
test("Go compiles a package again for a further tool only if modulesCompiledAgain lists its module", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-versions-"));
  try {
    const signaturesByPackage = new Map<string, Set<number>>();
    const compiledAgain: Record<string, string[]> = {};
    let sharedPackages = 0;
    for (const tool of [...catalogue, languageTool]) {
      const packages = await packagesOf(tool, path.join(folder, tool.name));
      const modules = new Set<string>();
      for (const [name, signature] of signatures(packages)) {
        const knownSignatures = signaturesByPackage.get(name) ?? new Set<number>();
        if (knownSignatures.has(signature)) sharedPackages++;
        else if (knownSignatures.size > 0) modules.add(packages.get(name)!.module);
        signaturesByPackage.set(name, knownSignatures.add(signature));
      }
      if (modules.size > 0) compiledAgain[tool.name] = [...modules].sort();
    }
    expect(sharedPackages).toBeGreaterThan(5_000);
    expect(compiledAgain).toEqual(modulesCompiledAgain);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
