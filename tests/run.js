// `npm test` runs types and unit tests; `npm run test:lab` runs everything else. Further arguments are Jest's, e.g. parts of files' names.
// It is plain JavaScript, since it runs before any program that reads TypeScript.
/* global console */
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { buildIfStale } = require("../generate/package/build-if-stale");
const { labTests } = require("./kinds");

const root = path.dirname(__dirname);
const [kind, ...jestArguments] = process.argv.slice(2);

void main().then((status) => process.exit(status));

/** Runs the tests; returns the exit status. */
async function main() {
  if (kind === "lab" && jestArguments.every((argument) => argument.startsWith("-"))) {
    // A single test builds the tools that it needs. A whole run needs all of them, and shows the progress of their builds here. Their
    // versions are those of the catalogue, as in the tests (support/jest/lab-turns.js).
    process.env.TALOS_GPU_LAB_TOOLS ??= "own";
    run("npm", ["run", "--silent", "tools"]);
  }
  buildIfStale();
  // The types are checked while the tests run. In CI, .ci/run has checked them already.
  const types = kind === "unit" && !process.env.CI ? checkTypes() : { status: 0, output: "" };
  // Unit tests compute, so more workers than cores would only wait for each other. Jest accepts one such option.
  const hasWorkers = jestArguments.some((argument) =>
    /^(-w|-i|--maxWorkers|--runInBand)/.test(argument),
  );
  const workers = kind === "unit" && !hasWorkers ? ["--maxWorkers=100%"] : [];
  // The name of the project comes last, since the option takes every word that follows it.
  const tests = runPackage("jest/bin/jest", [
    ...workers,
    ...jestArguments,
    "--selectProjects",
    kind,
  ]);
  const testStatus = await tests;
  const { status: typeStatus, output } = await types;
  if (output !== "") console.error(output);
  if (kind === "unit") {
    if (typeStatus !== 0) console.error("The types are wrong: see above.");
    reportSkippedTests();
  }
  return testStatus || typeStatus;
}

/** Checks the types; returns the compiler's status and its output. */
async function checkTypes() {
  const args = [
    // The compiler makes many short-lived objects; see lint/check.js.
    "--max-semi-space-size=32",
    require.resolve("typescript/bin/tsc"),
    "--noEmit",
    "--incremental",
    "--tsBuildInfoFile",
    "node_modules/.cache/talos-gpu.tsbuildinfo",
  ];
  return runNode(args, ["ignore", "pipe", "pipe"]);
}

/** Prints the tests of labs, which this run leaves out: a folder if it has no other tests, and otherwise the file. */
function reportSkippedTests() {
  const files = ["tests", "lab/tests"]
    .flatMap((folder) =>
      fs
        .readdirSync(path.join(root, folder), { recursive: true })
        .map((file) => path.join(folder, file).replaceAll(path.sep, "/")),
    )
    .filter((file) => file.endsWith(".test.ts"));
  const isLabTest = (file) => labTests.some((part) => new RegExp(part).test(`/${file}`));
  const skipped = files.filter(isLabTest);
  const foldersOfUnitTests = new Set(files.filter((file) => !isLabTest(file)).map(path.dirname));
  const nameOf = (file) => (foldersOfUnitTests.has(path.dirname(file)) ? file : path.dirname(file));
  const names = [...new Set(skipped.map(nameOf))].sort();
  console.error(
    `Left out: ${skipped.length} files of tests that start labs or other programs: ${names.join(", ")}.\n` +
      "`npm run test:lab` runs them; it needs Go.",
  );
}

/** Runs a command; ends with its status if it fails. */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs a program of a package; returns its status. */
async function runPackage(program, args) {
  return (await runNode([require.resolve(program), ...args], "inherit")).status;
}

/** Runs Node until it ends; returns its status, and its output if that goes through pipes. */
function runNode(args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (part) => (output += part));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status: status ?? 1, output }));
  });
}
