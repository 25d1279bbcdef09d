// npm test [-- --fast] [-- arguments of jest]: runs the tests, or with --fast all but the long ones, and says what it left out.
// Plain JavaScript, since it runs before anything is there that reads TypeScript.
/* global console */
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const root = path.dirname(__dirname);
/**
 * What --fast leaves out: labs, and what starts the lab's own programs. One whole lab stays: the secrets' test brings a
 * stack up, updates it twice and takes it away.
 */
const long = [
  "/tests/e2e/(?!secrets\\.)",
  "/tests/node/",
  "/lab/tests/(engine|providers)/",
  "/lab/tests/go\\.",
  "/tests/sdk/(languages|packed)\\.",
];

const all = process.argv.slice(2);
const fast = all.includes("--fast");
const own = all.filter((argument) => argument !== "--fast");

if (!process.env.CI)
  // .ci/run has checked the types already
  run("typescript/bin/tsc", [
    "--noEmit",
    "--incremental",
    "--tsBuildInfoFile",
    "node_modules/.cache/talos-gpu.tsbuildinfo",
  ]);
buildIfStale();
const ignored = (fast ? long : []).flatMap((pattern) => ["--testPathIgnorePatterns", pattern]);
const status = run("jest/bin/jest", [...own, ...ignored], true);
if (fast) {
  const files = ["tests", "lab/tests"]
    .flatMap((folder) =>
      fs.readdirSync(path.join(root, folder), { recursive: true }).map((file) => path.join(folder, file)),
    )
    .map((file) => `/${file.replaceAll(path.sep, "/")}`)
    .filter((file) => file.endsWith(".test.ts") && long.some((pattern) => new RegExp(pattern).test(file)));
  const names = files.map((file) => `\n  ${file.slice(1)}`).sort();
  console.error(
    `--fast left out ${files.length} files, which start labs or programs of the lab:${names.join("")}\nnpm test runs them.`,
  );
}
process.exit(status);

/** Some tests run the package as users get it: a build that is older than its sources would fail them for no reason that they name. */
function buildIfStale() {
  const folder = path.join(root, "components");
  const made = ["components/bin/program.js", "sdk/schema.json"].map((file) => path.join(root, file));
  const built = Math.min(...made.map((file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0));
  const sources = fs
    .readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(".ts") && !/(^|[/\\])(bin|node_modules)[/\\]/.test(file));
  if (sources.every((file) => fs.statSync(path.join(folder, file)).mtimeMs <= built)) return;
  const { status } = spawnSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs a program of a package; ends with it when it fails, unless its status is wanted. */
function run(program, args, wanted = false) {
  const { status, error } = spawnSync(process.execPath, [require.resolve(program), ...args], {
    cwd: root,
    stdio: "inherit",
  });
  if (error) throw error;
  if (status !== 0 && !wanted) process.exit(status ?? 1);
  return status ?? 1;
}
