const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { root, run, version } = require("./repository");

/**
 * npm's tarball as npm publishes it, and the schema of the release.
 *
 * @param {string} folder
 */
function packPackage(folder) {
  run("npm", [
    "pack",
    "--ignore-scripts",
    "--workspace",
    "components",
    "--pack-destination",
    folder,
  ]);
  fs.copyFileSync(path.join(root, "sdk/schema.json"), path.join(folder, "schema.json"));
}

/** Where the lock file has this repository's own packages, and where their users have them. */
const ownPackages = { "sdk/talos": "node_modules/@pulumiverse/talos" };
const ownModules = "components/node_modules/";

/**
 * The lock file as if the package were alone in its folder: `npm sbom` knows no other way to leave the workspaces next to it out.
 *
 * @param {{ packages: Record<string, { link?: boolean }> }} lock
 * @param {{ name: string, version: string, dependencies: Record<string, string> }} manifest
 */
function lockOf({ packages }, { name, version, dependencies }) {
  const entries = Object.entries(packages);
  const shared = entries.filter(([at, { link }]) => at.startsWith("node_modules/") && !link);
  const own = entries.flatMap(([at, entry]) => {
    if (at.startsWith(ownModules)) return [[at.slice("components/".length), entry]];
    return at in ownPackages ? [[ownPackages[at], entry]] : [];
  });
  const all = Object.fromEntries([...shared, ...own]);
  const packaged = { "": { name, version, dependencies }, ...all };
  return { name, version, lockfileVersion: 3, requires: true, packages: packaged };
}

/**
 * What the package depends on, in CycloneDX, at the versions of the lock file.
 *
 * @param {string} folder
 */
function writeSbom(folder) {
  const read = (file) => JSON.parse(fs.readFileSync(path.join(root, file), "utf8"));
  const manifest = read("components/package.json");
  const work = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-sbom-"));
  // npm calls the whole by its folder.
  const alone = path.join(work, manifest.name);
  try {
    fs.mkdirSync(alone);
    const { scripts: _, devDependencies: __, ...rest } = manifest;
    fs.writeFileSync(path.join(alone, "package.json"), JSON.stringify(rest));
    const lock = lockOf(read("package-lock.json"), manifest);
    fs.writeFileSync(path.join(alone, "package-lock.json"), JSON.stringify(lock));
    const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"];
    const text = execFileSync("npm", args, { cwd: alone, encoding: "utf8", maxBuffer: 2 ** 26 });
    fs.writeFileSync(path.join(folder, `talos-gpu-${version}.cdx.json`), text);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

module.exports = { packPackage, writeSbom };
