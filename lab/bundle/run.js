// node lab/bundle/run.js [--build|--whole-sdk] FILE.ts ARGUMENTS: runs a program of this repository from its bundle, see
// bundle.js. `--build` is for a program that runs the built package: it first builds a package that is older than its
// sources. `--whole-sdk` loads Pulumi's SDK as a user's program does, with the parts that nothing here uses: the
// benchmark compares with that.
/* global console */
const fs = require("node:fs");
const { buildIfStale } = require("../../generate/package/build-if-stale");
const { bundle, compile, inSources } = require("./bundle");
const { loadPartsWhenUsed } = require("./lazy-parts");

process.argv.splice(1, 1); // the program sees its own file and arguments
const option = process.argv[1]?.startsWith("--") ? process.argv.splice(1, 1)[0] : undefined;
if (option === "--build") buildIfStale();
// Where the repository is linked into another folder, its sources and the bundle of them stay the same.
process.argv[1] = fs.realpathSync(process.argv[1]);
process.on("uncaughtExceptionMonitor", (error) => {
  if (error instanceof Error) error.stack = inSources(error.stack ?? "");
});
if (option !== "--whole-sdk") loadPartsWhenUsed();
bundle(process.argv[1]).then(
  (file) => void compile(file)(),
  (error) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
