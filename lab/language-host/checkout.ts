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

const copiedPaths = [
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
    ...copiedPaths.map((name) => copy(name, folder)),
    ...Object.values(packages).map((name) => buildPackage(name, folder)),
    linkDependencies(path.join(repository, "node_modules"), path.join(folder, "node_modules")),
  ]);
  for (const [name, packageFolder] of Object.entries(packages))
    await fs.symlink(path.join(folder, packageFolder), path.join(folder, "node_modules", name));
  return folder;
}

async function copy(name: string, folder: string): Promise<void> {
  const source = path.join(repository, name);
  const isCopied = (file: string): boolean => !/(^|[\\/])(node_modules|bin)$/.test(file);
  await fs
    .cp(source, path.join(folder, name), { recursive: true, filter: isCopied })
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
  const target = path.join(folder, name);
  const modules = path.join(repository, name, "node_modules");
  await fs.symlink(modules, path.join(target, "node_modules"));
  const buildOptions = {
    platform: "node",
    target: "node20",
    format: "cjs",
    logLevel: "error",
  } as const;
  const files = (await fs.readdir(target, { recursive: true })).filter(
    (file) => !file.startsWith("node_modules"),
  );
  const entryPoints = files
    .filter((file) => file.endsWith(".ts"))
    .map((file) => path.join(target, file));
  await build({
    ...buildOptions,
    entryPoints,
    outdir: path.join(target, "bin"),
    outbase: target,
    sourcemap: true,
  });
  await fs.writeFile(path.join(target, "bin", "index.d.ts"), 'export * from "../index";\n');
  const data = files.filter((file) => file.includes("/") && file.endsWith(".json"));
  await Promise.all(
    data.map((file) => fs.cp(path.join(target, file), path.join(target, "bin", file))),
  );
  if (name !== "components") return;
  await bundle(path.join(target, "bin"), ["program", "cluster-objects"]);
  await fs.copyFile(path.join(repository, "sdk/schema.json"), path.join(target, "bin/schema.json"));
}

/**
 * Links to the packages. A scope is a folder of its own, because packages of this repository replace some packages in
 * it.
 */
async function linkDependencies(source: string, target: string, scope = ""): Promise<void> {
  await fs.mkdir(target, { recursive: true });
  for (const entry of await fs.readdir(source)) {
    const name = scope === "" ? entry : `${scope}/${entry}`;
    if (name in packages) continue;
    if (entry.startsWith("@"))
      await linkDependencies(path.join(source, entry), path.join(target, entry), entry);
    else await fs.symlink(path.join(source, entry), path.join(target, entry));
  }
}
