import { spawn, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as path from "node:path";
import * as semver from "semver";
import { repository } from "../../stacks/stack-file";

// An npm registry on this computer, which serves the installed packages as npm's registry would, without a
// network.

interface Manifest {
  name: string;
  version: string;
}

/** A package of the registry: a folder that is packed on request, or a tarball. */
interface Stored {
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
export function pack(workspace: string, into: string): string {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", into];
  const { stdout } = spawnSync("npm", args, {
    cwd: path.join(repository, workspace),
    encoding: "utf8",
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return path.join(into, filename);
}

/**
 * Serves every release of a package that is installed in this repository.
 *
 * @param tarballs of packages that are published in addition: of workspaces, from `pack`
 */
export async function serveRegistry(tarballs: readonly string[]): Promise<Registry> {
  const stored = [...installed(), ...tarballs.map(ofTarball)];
  const server = http.createServer(({ url = "/" }, response) => {
    const [name = "", version] = decodeURIComponent(url.slice(1)).split("/-/");
    const versions = stored.filter(({ manifest }) => manifest.name === name);
    const one = versions.find(({ manifest }) => `${manifest.version}.tgz` === version);
    if (one !== undefined) return send(one, response);
    if (versions.length === 0) return response.writeHead(404).end("{}");
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify(documentOf(name, versions, addressOf(server))));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return { url: addressOf(server), close: () => void server.close() };
}

const addressOf = (server: http.Server): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function documentOf(name: string, all: Stored[], url: string): object {
  const versions = all.map(({ manifest }) => {
    const tarball = `${url}/${encodeURIComponent(name)}/-/${manifest.version}.tgz`;
    return [manifest.version, { ...manifest, dist: { tarball } }] as const;
  });
  const [latest] = versions.map(([version]) => version).sort(semver.rcompare);
  return { name, "dist-tags": { latest }, versions: Object.fromEntries(versions) };
}

/** npm removes the first folder of a tarball, whatever its name is. */
function send({ folder, tarball }: Stored, response: http.ServerResponse): void {
  if (tarball !== undefined) return void fs.createReadStream(tarball).pipe(response);
  const [parent, own] = [path.dirname(folder!), path.basename(folder!)];
  const args = ["-czf", "-", "--exclude", `${own}/node_modules`, "-C", parent, own];
  spawn("tar", args, { stdio: ["ignore", "pipe", "inherit"] }).stdout.pipe(response);
}

/**
 * The packages of the lock file that are installed: not those for other platforms, and not the workspaces, which
 * are links.
 */
function installed(): Stored[] {
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
      manifest: read(fs.readFileSync(path.join(folder, "package.json"), "utf8")),
    }));
}

function ofTarball(tarball: string): Stored {
  const { stdout } = spawnSync("tar", ["-xzOf", tarball, "package/package.json"], {
    encoding: "utf8",
  });
  return { tarball, manifest: read(stdout) };
}

/** Scripts of published packages ran before these were packed. Those that would run again are left out. */
function read(text: string): Manifest {
  const { scripts: _, ...manifest } = JSON.parse(text) as Manifest & { scripts?: object };
  return manifest;
}
