// Packs Pulumi's plugin for a platform: an executable without Node modules, in the archive that `pulumi plugin install`
// downloads (pulumi/pulumi v3.259.0, sdk/go/common/workspace/plugins.go:
// `pulumi-resource-NAME-vVERSION-OS-ARCH.tar.gz`). The executable is Node with the bundled plugin inside
// (nodejs.org/api/single-executable-applications.html), and is made on its own platform. The archive also contains the
// package's two programs, which commands run with the user's Node.
const { buildSync } = require("esbuild");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { root, run, version } = require("./repository");

/** Go's names, which Pulumi uses, for Node's platforms and processors. */
const goos = { linux: "linux", darwin: "darwin", win32: "windows" };
const goarch = { x64: "amd64", arm64: "arm64" };

/** Marks the place of the program in Node's executable (the page above, "postject"). */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const postject = require.resolve("postject/dist/cli.js");

/** Files that the plugin reads or runs, relative to the package's folder. */
const packed = [
  "package.json",
  "LICENSE",
  "bin/schema.json",
  "bin/program.js",
  "bin/cluster-objects.js",
];

/**
 * The name of a plugin's archive.
 *
 * @param {string} platform as Node calls it
 * @param {string} processor as Node calls it
 * @throws Error if Pulumi has no name for them.
 */
function archiveOf(platform, processor) {
  const [system, architecture] = [goos[platform], goarch[processor]];
  if (system === undefined || architecture === undefined)
    throw new Error(
      `${platform} ${processor}: Pulumi has no plugins for this platform, so none is packed; use one of ${Object.keys(goos).join(", ")} on ${Object.keys(goarch).join(" or ")}`,
    );
  return `pulumi-resource-talos-gpu-v${version}-${system}-${architecture}.tar.gz`;
}

/**
 * The plugin's archive for this platform.
 *
 * @param {string} folder
 */
function packPlugin(folder) {
  const archive = archiveOf(process.platform, process.arch);
  const work = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-plugin-"));
  try {
    const plugin = path.join(work, "plugin");
    const executable = path.join(
      plugin,
      `pulumi-resource-talos-gpu${process.platform === "win32" ? ".exe" : ""}`,
    );
    for (const file of packed) {
      fs.mkdirSync(path.dirname(path.join(plugin, file)), { recursive: true });
      fs.copyFileSync(path.join(root, "components", file), path.join(plugin, file));
    }
    makeExecutable(executable, work);
    run("tar", ["-czf", path.join(folder, archive), "-C", plugin, "."]);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} executable
 * @param {string} work folder for intermediate files
 */
function makeExecutable(executable, work) {
  const [main, blob, config] = ["plugin.js", "plugin.blob", "sea.json"].map((name) =>
    path.join(work, name),
  );
  buildSync({
    entryPoints: [path.join(root, "components/plugin/main.ts")],
    absWorkingDir: path.join(root, "components"),
    outfile: main,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minifyWhitespace: true,
    // Pulumi's SDK uses this to pack programs, which a plugin never does.
    external: ["node-gyp/bin/node-gyp.js"],
    // Calls the module's function, as Pulumi's host does.
    footer: { js: "module.exports();" },
    logLevel: "warning",
  });
  const settings = { main, output: blob, disableExperimentalSEAWarning: true };
  fs.writeFileSync(config, JSON.stringify(settings));
  run(process.execPath, ["--experimental-sea-config", config]);
  fs.copyFileSync(fs.realpathSync(process.execPath), executable);
  fs.chmodSync(executable, 0o755);
  const isMac = process.platform === "darwin";
  if (isMac) run("codesign", ["--remove-signature", executable]);
  const segment = isMac ? ["--macho-segment-name", "NODE_SEA"] : [];
  run(process.execPath, [
    postject,
    executable,
    "NODE_SEA_BLOB",
    blob,
    "--sentinel-fuse",
    fuse,
    ...segment,
  ]);
  if (isMac) run("codesign", ["--sign", "-", executable]);
}

module.exports = { archiveOf, packPlugin };
