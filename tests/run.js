// `npm test` runs types and unit tests; `npm run test:lab` runs everything else. Further arguments are Jest's, e.g. parts of files' names.
// Plain JavaScript, since it runs before anything is there that reads TypeScript.
/* global console */
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { buildIfStale } = require("../generate/package/build-if-stale");
const { labTests } = require("./kinds");

const root = path.dirname(__dirname);
const [kind, ...own] = process.argv.slice(2);

if (kind === "unit") {
  // .ci/run has checked the types already.
  if (!process.env.CI) checkTypes();
} else if (own.every((argument) => argument.startsWith("-"))) {
  // A test gets the tools that it needs itself. A whole run needs all of them, and shows here how far their builds are: the catalogue's
  // versions, as the tests take them (support/jest/turns.js).
  process.env.TALOS_GPU_LAB_TOOLS ??= "own";
  run("npm", ["run", "--silent", "tools"]);
}
buildIfStale();
// The name of the project comes last: the option takes every word that follows it.
const status = node("jest/bin/jest", [...own, "--selectProjects", kind]);
if (kind === "unit") nameWhatIsLeftOut();
process.exit(status);

function checkTypes() {
  const args = [
    "--noEmit",
    "--incremental",
    "--tsBuildInfoFile",
    "node_modules/.cache/talos-gpu.tsbuildinfo",
  ];
  const status = node("typescript/bin/tsc", args);
  if (status !== 0) process.exit(status);
}

function nameWhatIsLeftOut() {
  const files = ["tests", "lab/tests"]
    .flatMap((folder) =>
      fs
        .readdirSync(path.join(root, folder), { recursive: true })
        .map((file) => path.join(folder, file)),
    )
    .map((file) => file.replaceAll(path.sep, "/"))
    .filter(
      (file) =>
        file.endsWith(".test.ts") && labTests.some((part) => new RegExp(part).test(`/${file}`)),
    );
  const folders = [...new Set(files.map((file) => path.dirname(file)))].sort();
  console.error(
    `Left out: ${files.length} files of tests that start labs or their programs, in ${folders.join(", ")}.\n` +
      "`npm run test:lab` runs them; it needs Go.",
  );
}

/** Runs a command; ends with its status if it fails. */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs a program of a package; gives its status. */
function node(program, args) {
  const { status, error } = spawnSync(process.execPath, [require.resolve(program), ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (error) throw error;
  return status ?? 1;
}
