// node lab/bundle/run.js [--build] FILE.ts ARGUMENTS: runs a program of this repository from its bundle, see
// bundle.js. `--build` is for a program that runs the built package: it first builds a package that is older than its
// sources.
/* global console */
const fs = require("node:fs");
const { buildIfStale } = require("../../generate/package/build-if-stale");
const { bundle, compile, inSources } = require("./bundle");
const { loadPartsWhenUsed } = require("./lazy-parts");

process.argv.splice(1, 1); // the program sees its own file and arguments
if (process.argv[1] === "--build") {
  process.argv.splice(1, 1);
  buildIfStale();
}
// Where the repository is linked into another folder, its sources and the bundle of them stay the same.
process.argv[1] = fs.realpathSync(process.argv[1]);
process.on("uncaughtExceptionMonitor", (error) => {
  if (error instanceof Error) error.stack = inSources(error.stack ?? "");
});
loadPartsWhenUsed();
bundle(process.argv[1]).then(
  (file) => void compile(file)(),
  (error) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
