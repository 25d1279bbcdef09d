// If the package's build is older than its sources, programs that run it fail without a clear reason: a lab then runs
// yesterday's program on its machines. So each such program calls this one first. It is plain JavaScript, since it runs
// before any tool that reads TypeScript exists.
/* global console */
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

/** Inputs of `npm run build`. */
const sources = ["components", "cli", "generate/package", "generate/schema", "sdk/talos"];
/** Two of its outputs: one of the first, and one of the last. */
const outputs = ["sdk/schema.json", "components/bin/program.js"];

/** Whether a source of the package is newer than its build, in the repository at `root`. */
function isStale(root) {
  const timeOf = (file) =>
    fs.statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = Math.min(...outputs.map(timeOf));
  return sources.some((folder) =>
    fs
      .readdirSync(path.join(root, folder), { recursive: true })
      .filter(
        (file) => /\.(ts|js|json)$/.test(file) && !/(^|[/\\])(bin|node_modules)[/\\]/.test(file),
      )
      .some((file) => timeOf(path.join(folder, file)) > built),
  );
}

/**
 * Builds this repository's package if its build is stale, without writing to standard output. Ends the process if the
 * build fails.
 */
function buildIfStale() {
  const root = path.join(__dirname, "../..");
  if (!isStale(root)) return;
  console.error("components/bin is older than its sources, so `npm run build` runs first");
  const { status, error } = spawnSync("npm", ["run", "--silent", "build"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

module.exports = { buildIfStale, isStale };
