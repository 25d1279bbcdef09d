import { build } from "esbuild";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { bundle } from "../../generate/package/bundles";
import { repository } from "../../stacks/stack-file";

/**
 * Packages of this repository, by their name in `node_modules`: the folder of each, and a function for the files of
 * its build.
 */
const packages: Readonly<Record<string, string>> = {
  "talos-gpu": "components",
  "@pulumiverse/talos": "sdk/talos",
  "talos-gpu-policy": "policy",
};

const copied = [
  "LICENSE",
  "Pulumi.yaml",
  "package.json",
  "tsconfig.json",
  ".npmrc",
  "stacks",
  "examples",
];

/**
 * Makes a copy of the repository like a user's checkout, with dependencies and packages built from the present sources.
 * It is a copy because `pulumi stack init` writes into stack files.
 *
 * @param folder path of the copy.
 * @returns the folder.
 */
export async function makeCheckout(folder: string): Promise<string> {
  await fs.mkdir(folder, { recursive: true });
  await Promise.all([
    ...copied.map((name) => copy(name, folder)),
    ...Object.values(packages).map((name) => buildPackage(name, folder)),
    linkDependencies(path.join(repository, "node_modules"), path.join(folder, "node_modules")),
  ]);
  for (const [name, at] of Object.entries(packages))
    await fs.symlink(path.join(folder, at), path.join(folder, "node_modules", name));
  return folder;
}

async function copy(name: string, folder: string): Promise<void> {
  const from = path.join(repository, name);
  const wanted = (file: string): boolean => !/(^|[\\/])(node_modules|bin)$/.test(file);
  await fs
    .cp(from, path.join(folder, name), { recursive: true, filter: wanted })
    .catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    });
}

/**
 * Writes a package's sources and the results of `npm run build`: each compiled file, and the bundles. Types come from
 * the sources.
 */
async function buildPackage(name: string, folder: string): Promise<void> {
  await copy(name, folder);
  const at = path.join(folder, name);
  const modules = path.join(repository, name, "node_modules");
  await fs.symlink(modules, path.join(at, "node_modules"));
  const common = { platform: "node", target: "node20", format: "cjs", logLevel: "error" } as const;
  const files = (await fs.readdir(at, { recursive: true })).filter(
    (file) => !file.startsWith("node_modules"),
  );
  const entryPoints = files
    .filter((file) => file.endsWith(".ts"))
    .map((file) => path.join(at, file));
  await build({
    ...common,
    entryPoints,
    outdir: path.join(at, "bin"),
    outbase: at,
    sourcemap: true,
  });
  await fs.writeFile(path.join(at, "bin", "index.d.ts"), 'export * from "../index";\n');
  const data = files.filter((file) => file.includes("/") && file.endsWith(".json"));
  await Promise.all(data.map((file) => fs.cp(path.join(at, file), path.join(at, "bin", file))));
  if (name !== "components") return;
  await bundle(path.join(at, "bin"), ["program", "cluster-objects"]);
  await fs.copyFile(path.join(repository, "sdk/schema.json"), path.join(at, "bin/schema.json"));
}

/**
 * Links to the packages. A scope is a folder of its own, because packages of this repository replace some packages in
 * it.
 */
async function linkDependencies(from: string, to: string, scope = ""): Promise<void> {
  await fs.mkdir(to, { recursive: true });
  for (const entry of await fs.readdir(from)) {
    const name = scope === "" ? entry : `${scope}/${entry}`;
    if (name in packages) continue;
    if (entry.startsWith("@"))
      await linkDependencies(path.join(from, entry), path.join(to, entry), entry);
    else await fs.symlink(path.join(from, entry), path.join(to, entry));
  }
}
