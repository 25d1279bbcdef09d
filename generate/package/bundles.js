// Bundles each program of this package with its dependencies, since users do not install them.
const { build } = require("esbuild");
const path = require("node:path");
const { kubernetesClient } = require("./kubernetes-client");

/** Folder of the package: its files are named below, and its `bin` gets the programs. */
const packageFolder = path.join(__dirname, "../../components");
/** Main file of each program in `bin`. */
const programs = {
  program: "program/main.ts",
  "cluster-objects": "kubernetes/guard/cluster-objects.ts",
  cli: "../cli/main.ts",
};

/**
 * @param {string} outdir absolute path of the output folder
 * @param {readonly string[]} names programs to bundle; default all
 */
async function bundle(outdir, names = Object.keys(programs)) {
  await build({
    entryPoints: names.map((name) => ({ in: programs[name], out: name })),
    absWorkingDir: packageFolder,
    outdir,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    // node-fetch needs this `URL` package only if Node lacks URL. Loading it takes a tenth of a run, and Node warns of
    // its `punycode`.
    alias: { "whatwg-url": "node:url" },
    plugins: [kubernetesClient],
    minifyWhitespace: true,
    logLevel: "warning",
  });
}

if (require.main === module) void bundle(path.join(packageFolder, "bin"));

module.exports = { bundle };
