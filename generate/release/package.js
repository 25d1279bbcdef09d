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
  pack("components", folder);
  fs.copyFileSync(path.join(root, "sdk/schema.json"), path.join(folder, "schema.json"));
}

/**
 * npm's tarball of the policy pack.
 *
 * @param {string} folder
 */
function packPolicy(folder) {
  run("npm", ["run", "build", "--workspace", "policy"]);
  pack("policy", folder);
}

/**
 * @param {string} workspace
 * @param {string} folder
 */
const pack = (workspace, folder) =>
  run("npm", ["pack", "--ignore-scripts", "--workspace", workspace, "--pack-destination", folder]);

/** Where this repository's packages are: folder in the lock file → folder in a user's installation. */
const ownPackages = {
  components: "node_modules/talos-gpu",
  "sdk/talos": "node_modules/@pulumiverse/talos",
};

/** Packages of this repository that npm serves. */
const published = ["components", "policy"];

/**
 * The path of a package in an installation of a workspace, from its path in the lock file. Undefined if an installation
 * of the workspace does not contain the package.
 *
 * @param {string} workspace
 * @param {string} lockPath
 */
function placeOf(workspace, lockPath) {
  if (lockPath.startsWith(`${workspace}/node_modules/`))
    return lockPath.slice(workspace.length + 1);
  if (lockPath === workspace) return undefined;
  const [folder, installedFolder] =
    Object.entries(ownPackages).find(
      ([name]) => lockPath === name || lockPath.startsWith(`${name}/`),
    ) ?? [];
  return folder === undefined || folder === workspace
    ? undefined
    : installedFolder + lockPath.slice(folder.length);
}

/**
 * The lock file as if the package were alone in its folder: `npm sbom` cannot leave out the other workspaces in any
 * other way.
 *
 * @param {{ packages: Record<string, { link?: boolean }> }} lock
 * @param {string} workspace
 * @param {{ name: string, version: string, dependencies: Record<string, string> }} manifest
 */
function lockOf({ packages }, workspace, { name, version, dependencies }) {
  const entries = Object.entries(packages);
  const shared = entries.filter(
    ([lockPath, { link }]) => lockPath.startsWith("node_modules/") && !link,
  );
  const ownEntries = entries.flatMap(([lockPath, entry]) => {
    const place = placeOf(workspace, lockPath);
    return place === undefined ? [] : [[place, entry]];
  });
  const packaged = {
    "": { name, version, dependencies },
    ...Object.fromEntries([...shared, ...ownEntries]),
  };
  return { name, version, lockfileVersion: 3, requires: true, packages: packaged };
}

/**
 * Writes the dependencies of each package in CycloneDX, with the versions of the lock file.
 *
 * @param {string} folder
 */
function writeSboms(folder) {
  for (const workspace of published) writeSbom(workspace, folder);
}

/**
 * @param {string} workspace
 * @param {string} folder
 */
function writeSbom(workspace, folder) {
  const read = (file) => JSON.parse(fs.readFileSync(path.join(root, file), "utf8"));
  const manifest = read(`${workspace}/package.json`);
  const work = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-sbom-"));
  // npm names the SBOM after its folder.
  const alone = path.join(work, manifest.name);
  try {
    fs.mkdirSync(alone);
    const { scripts: _, devDependencies: __, ...rest } = manifest;
    fs.writeFileSync(path.join(alone, "package.json"), JSON.stringify(rest));
    const lock = lockOf(read("package-lock.json"), workspace, manifest);
    fs.writeFileSync(path.join(alone, "package-lock.json"), JSON.stringify(lock));
    const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"];
    const text = execFileSync("npm", args, { cwd: alone, encoding: "utf8", maxBuffer: 2 ** 26 });
    fs.writeFileSync(path.join(folder, `${manifest.name}-${version}.cdx.json`), text);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

module.exports = { packPackage, packPolicy, writeSboms };
