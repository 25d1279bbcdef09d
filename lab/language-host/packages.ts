import { PackageDependency, PackageParameterization } from "@pulumi/pulumi/proto/plugin_pb";
import * as fs from "node:fs";
import * as path from "node:path";

/** What a package.json says of the provider that its package needs. */
interface Manifest {
  name?: string;
  version?: string;
  pulumi?: {
    resource?: boolean;
    name?: string;
    version?: string;
    server?: string;
    parameterization?: { name: string; version: string; value: string };
  };
}

/**
 * The providers that the packages below a folder need: every `package.json` in a `node_modules` there that says
 * `pulumi.resource`. Other folders than the program's own are not looked into (main.go, getPackagesFromDir).
 */
export function requiredPackages(folder: string): PackageDependency[] {
  const found: PackageDependency[] = [];
  visit(folder, false, new Set(), found);
  return found;
}

function visit(folder: string, inModules: boolean, visited: Set<string>, found: PackageDependency[]): void {
  const real = realPath(folder);
  if (real === undefined || visited.has(real)) return;
  visited.add(real);
  for (const entry of fs.readdirSync(real, { withFileTypes: true })) {
    const at = path.join(real, entry.name);
    const isFolder = entry.isSymbolicLink()
      ? fs.statSync(at, { throwIfNoEntry: false })?.isDirectory()
      : entry.isDirectory();
    if (isFolder) visit(at, inModules || path.basename(real) === "node_modules", visited, found);
    else if (inModules && entry.name === "package.json") found.push(...providerOf(at));
  }
}

function providerOf(file: string): PackageDependency[] {
  const { name = "", version = "", pulumi } = read(file);
  if (pulumi?.resource !== true) return [];
  const provider = pulumi.name ?? (name.startsWith("@pulumi/") ? name.slice("@pulumi/".length) : undefined);
  if (provider === undefined) return []; // the real host logs it at a level that nobody sees
  const dependency = new PackageDependency();
  dependency.setName(provider);
  dependency.setKind("resource");
  dependency.setVersion((pulumi.version ?? version).replace(/^v?/, "v"));
  dependency.setServer(pulumi.server ?? "");
  if (pulumi.parameterization !== undefined) {
    const { name: of, version: at, value } = pulumi.parameterization;
    const parameterization = new PackageParameterization();
    parameterization.setName(of);
    parameterization.setVersion(at);
    parameterization.setValue(value);
    dependency.setParameterization(parameterization);
  }
  return [dependency];
}

function read(file: string): Manifest {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8")) as Manifest;
  } catch {
    return {}; // packages bring broken ones for their own tests
  }
}

function realPath(folder: string): string | undefined {
  try {
    return fs.realpathSync(folder);
  } catch {
    return undefined;
  }
}
