import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as path from "node:path";
import * as semver from "semver";
import { repository } from "../../../stacks/stack-file";

// An npm registry on this computer, which serves the installed packages as npm's registry would, without a
// network.

interface Manifest {
  name: string;
  version: string;
}

/** A package of the registry: a folder that is packed on request, or a tarball. */
interface StoredPackage {
  manifest: Manifest;
  folder?: string;
  tarball?: string;
}

/** A registry that answers `npm install`. */
export interface Registry {
  /** The URL for npm's `--registry`. */
  url: string;
  close(): void;
}

/** Packs a workspace of this repository as npm would publish it; returns the path of the tarball. */
export function packWorkspace(workspace: string, folder: string): string {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const { stdout } = spawnSync("npm", args, {
    cwd: path.join(repository, workspace),
    encoding: "utf8",
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return path.join(folder, filename);
}

/**
 * Serves every release of a package that is installed in this repository.
 *
 * @param tarballs of packages that are published in addition: of workspaces, from `pack`
 */
export async function serveRegistry(tarballs: readonly string[]): Promise<Registry> {
  const packages = [...installedPackages(), ...tarballs.map(readTarball)];
  const server = http.createServer(({ url = "/" }, response) => {
    const [name = "", version] = decodeURIComponent(url.slice(1)).split("/-/");
    const versions = packages.filter(({ manifest }) => manifest.name === name);
    const tarballPackage = versions.find(({ manifest }) => `${manifest.version}.tgz` === version);
    if (tarballPackage !== undefined) return sendTarball(tarballPackage, response);
    if (versions.length === 0) return response.writeHead(404).end("{}");
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify(packageDocument(name, versions, addressOf(server))));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return { url: addressOf(server), close: () => void server.close() };
}

const addressOf = (server: http.Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function packageDocument(name: string, versionsOfPackage: StoredPackage[], url: string): object {
  const versions = versionsOfPackage.map(({ manifest }) => {
    const tarball = `${url}/${encodeURIComponent(name)}/-/${manifest.version}.tgz`;
    return [manifest.version, { ...manifest, dist: { tarball } }] as const;
  });
  const [latest] = versions.map(([version]) => version).sort(semver.rcompare);
  return { name, "dist-tags": { latest }, versions: Object.fromEntries(versions) };
}

/** Sends a package as a tarball. npm removes the first folder of a tarball, whatever the folder's name is. */
function sendTarball({ folder, tarball }: StoredPackage, response: http.ServerResponse): void {
  if (tarball !== undefined) return void fs.createReadStream(tarball).pipe(response);
  const [parent, folderName] = [path.dirname(folder!), path.basename(folder!)];
  const args = ["-czf", "-", "--exclude", `${folderName}/node_modules`, "-C", parent, folderName];
  spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] }).stdout.pipe(response);
}

/**
 * The packages of the lock file that are installed: not those for other platforms, and not the workspaces, which
 * are links.
 */
function installedPackages(): StoredPackage[] {
  const { packages } = JSON.parse(
    fs.readFileSync(path.join(repository, "package-lock.json"), "utf8"),
  ) as {
    packages: Record<string, { link?: boolean }>;
  };
  return Object.entries(packages)
    .filter(([place, { link }]) => place.includes("node_modules/") && !link)
    .map(([place]) => path.join(repository, place))
    .filter((folder) => fs.existsSync(path.join(folder, "package.json")))
    .map((folder) => ({
      folder,
      manifest: parseManifest(fs.readFileSync(path.join(folder, "package.json"), "utf8")),
    }));
}

function readTarball(tarball: string): StoredPackage {
  const { stdout } = spawnSync("tar", ["-xzOf", tarball, "package/package.json"], {
    encoding: "utf8",
  });
  return { tarball, manifest: parseManifest(stdout) };
}

/**
 * Reads a package.json, and leaves out its scripts: they ran before the package was published, and would run again at
 * an installation.
 */
function parseManifest(text: string): Manifest {
  const { scripts: _, ...manifest } = JSON.parse(text) as Manifest & { scripts?: object };
  return manifest;
}
