// Bundles the programs of this package, each with all that it needs, since its user has installed nothing for it.
const { buildSync } = require("esbuild");
const path = require("node:path");

/** The package, whose files are named below and whose `bin` takes the programs. */
const packageFolder = path.join(__dirname, "../../components");
/** Program, in `bin`, to its main file. */
const programs = {
  program: "program/main.ts",
  "cluster-objects": "kubernetes/guard/cluster-objects.ts",
  cli: "../cli/main.ts",
};

/**
 * @param {string} outdir folder that they go to, absolute
 * @param {readonly string[]} names of those to make; default all
 */
function bundle(outdir, names = Object.keys(programs)) {
  buildSync({
    entryPoints: names.map((name) => ({ in: programs[name], out: name })),
    absWorkingDir: packageFolder,
    outdir,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    // node-fetch takes its `URL` only where Node has none; loading it is a tenth of a run, and Node warns of its `punycode`.
    alias: { "whatwg-url": "node:url" },
    minifyWhitespace: true,
    logLevel: "warning",
  });
}

if (require.main === module) bundle(path.join(packageFolder, "bin"));

module.exports = { bundle };
