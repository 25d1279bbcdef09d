// A build of the package that is older than its sources fails whatever runs it, for no reason that it names: a lab then runs yesterday's
// program on its machines. Every program that runs the built package calls this first. Plain JavaScript, since it runs before anything is there that
// reads TypeScript.
/* global console */
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

/** What `npm run build` reads. */
const sources = ["components", "cli", "generate/package", "generate/schema", "sdk/talos"];
/** Two of the files that it makes: one of its first, and one of its last. */
const made = ["sdk/schema.json", "components/bin/program.js"];

/** Whether a source of the package is newer than what was built of them, in the repository at `root`. */
function isStale(root) {
  const timeOf = (file) =>
    fs.statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const built = Math.min(...made.map(timeOf));
  return sources.some((folder) =>
    fs
      .readdirSync(path.join(root, folder), { recursive: true })
      .filter(
        (file) => /\.(ts|js|json)$/.test(file) && !/(^|[/\\])(bin|node_modules)[/\\]/.test(file),
      )
      .some((file) => timeOf(path.join(folder, file)) > built),
  );
}

/** Builds this repository's package where its build is stale. Standard output stays that of the caller. Ends the process if the build fails. */
function buildIfStale() {
  const root = path.join(__dirname, "../..");
  if (!isStale(root)) return;
  console.error("components/bin is older than its sources, so it is built first (npm run build)");
  const { status, error } = spawnSync("npm", ["run", "--silent", "build"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

module.exports = { buildIfStale, isStale };
