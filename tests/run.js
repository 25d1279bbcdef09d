// `npm test` runs types and unit tests; `npm run test:lab` runs everything else. Further arguments are Jest's, e.g. parts of files' names.
// Plain JavaScript, since it runs before anything is there that reads TypeScript.
/* global console */
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { buildIfStale } = require("../generate/package/build-if-stale");
const { labTests } = require("./kinds");

const root = path.dirname(__dirname);
const [kind, ...own] = process.argv.slice(2);

void main().then((status) => process.exit(status));

/** Gives the exit status. */
async function main() {
  if (kind === "lab" && own.every((argument) => argument.startsWith("-"))) {
    // A test gets the tools that it needs itself. A whole run needs all of them, and shows here how far their builds are: the catalogue's
    // versions, as the tests take them (support/jest/lab-turns.js).
    process.env.TALOS_GPU_LAB_TOOLS ??= "own";
    run("npm", ["run", "--silent", "tools"]);
  }
  buildIfStale();
  // The types are checked while the tests run: on one core the one ends when the other does. .ci/run has checked them already.
  const types = kind === "unit" && !process.env.CI ? checkTypes() : { status: 0, output: "" };
  // Unit tests compute, so more workers than cores only wait for each other. Of two such options Jest wants one.
  const isGiven = own.some((argument) => /^(-w|-i|--maxWorkers|--runInBand)/.test(argument));
  const workers = kind === "unit" && !isGiven ? ["--maxWorkers=100%"] : [];
  // The name of the project comes last: the option takes every word that follows it.
  const tests = node("jest/bin/jest", [...workers, ...own, "--selectProjects", kind]);
  const status = await tests;
  const { status: ofTypes, output } = await types;
  if (output !== "") console.error(output);
  if (kind === "unit") {
    if (ofTypes !== 0) console.error("The types are wrong: see above.");
    nameWhatIsLeftOut();
  }
  return status || ofTypes;
}

/** Checks the types; gives the compiler's status and its output. */
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
  return ended(args, ["ignore", "pipe", "pipe"]);
}

/** Names each folder that is left out as a whole, and otherwise the file. */
function nameWhatIsLeftOut() {
  const files = ["tests", "lab/tests"]
    .flatMap((folder) =>
      fs
        .readdirSync(path.join(root, folder), { recursive: true })
        .map((file) => path.join(folder, file).replaceAll(path.sep, "/")),
    )
    .filter((file) => file.endsWith(".test.ts"));
  const isLeftOut = (file) => labTests.some((part) => new RegExp(part).test(`/${file}`));
  const left = files.filter(isLeftOut);
  const mixed = new Set(files.filter((file) => !isLeftOut(file)).map(path.dirname));
  const nameOf = (file) => (mixed.has(path.dirname(file)) ? file : path.dirname(file));
  console.error(
    `Left out: ${left.length} files of tests that start labs or other programs: ${[...new Set(left.map(nameOf))].sort().join(", ")}.\n` +
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
async function node(program, args) {
  return (await ended([require.resolve(program), ...args], "inherit")).status;
}

/** Runs Node until it ends; gives its status, and its output if that goes through pipes. */
function ended(args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (part) => (output += part));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status: status ?? 1, output }));
  });
}
