// npm test [-- --fast] [-- arguments of jest]: runs the tests, or with --fast all but the long ones, and says what it left out.
// Plain JavaScript, since it runs before anything is there that reads TypeScript.
/* global console */
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const root = path.dirname(__dirname);
/** One whole lab stays in a fast run: the secrets' test brings a stack up, updates it twice and takes it away. */
const fastLabs = ["secrets.test.ts"];

const all = process.argv.slice(2);
const fast = all.includes("--fast");
const own = all.filter((argument) => argument !== "--fast");

const labs = fs
  .readdirSync(path.join(root, "tests/e2e"), { recursive: true })
  .map((file) => file.replaceAll(path.sep, "/"))
  .filter((file) => file.endsWith(".test.ts"));
const leftOut = fast ? labs.filter((file) => !fastLabs.includes(file)) : [];
const ignored = leftOut.flatMap((file) => ["--testPathIgnorePatterns", `/tests/e2e/${file.replaceAll(".", "\\.")}$`]);

if (!process.env.CI)
  // .ci/run has checked the types already
  run("typescript/bin/tsc", [
    "--noEmit",
    "--incremental",
    "--tsBuildInfoFile",
    "node_modules/.cache/talos-gpu.tsbuildinfo",
  ]);
const status = run("jest/bin/jest", [...own, ...ignored], true);
if (fast) {
  const names = leftOut.map((file) => `tests/e2e/${file}`).join("\n  ");
  console.error(
    `--fast left out ${leftOut.length} files, the labs of every stack and every fix:\n  ${names}\nnpm test runs them.`,
  );
}
process.exit(status);

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
