// node lab/bundle/run.js FILE.ts ARGUMENTS: runs a program of this repository from its bundle, see bundle.js.
/* global console */
const fs = require("node:fs");
const { bundle, inSources } = require("./bundle");

// What the SDK loads under this name from here on is the one that stands in for it.
const arborist = require.resolve("@npmcli/arborist", { paths: [require.resolve("@pulumi/pulumi")] });
require("./no-arborist");
require.cache[arborist] = require.cache[require.resolve("./no-arborist")];

process.argv.splice(1, 1); // the program sees its own file and arguments
// Where the repository is linked into another folder, its sources and the bundle of them stay the same.
process.argv[1] = fs.realpathSync(process.argv[1]);
process.on("uncaughtExceptionMonitor", (error) => {
  if (error instanceof Error) error.stack = inSources(error.stack ?? "");
});
bundle(process.argv[1]).then(require, (error) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
