// `npm run build` of components. The compiler and the schema's generator each read all types for themselves, which is nearly all of their
// time. So they run at once: with two cores the build takes as long as the compiler alone.
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");

const root = path.join(__dirname, "../..");
const components = path.join(root, "components");
const bin = path.join(components, "bin");
const { resolve } = createRequire(path.join(root, "package.json"));

/** Runs a program of a package in Node, in components; gives its status. */
function run(program, ...args) {
  return new Promise((done, reject) => {
    const child = spawn(process.execPath, [resolve(program), ...args], {
      cwd: components,
      stdio: "inherit",
    });
    child.on("error", reject);
    child.on("close", (status) => done(status ?? 1));
  });
}

async function main() {
  fs.rmSync(bin, { recursive: true, force: true });
  const statuses = await Promise.all([
    run("typescript/bin/tsc", "-p", "."),
    run("tsx/cli", "../generate/schema/main.ts"),
  ]);
  const failed = statuses.find((status) => status !== 0);
  if (failed !== undefined) return failed;
  // The bundles come last: without them a build that failed counts as stale (build-if-stale.js).
  await require("./bundles").bundle(bin);
  for (const file of ["stacks/stack.schema.json", "sdk/schema.json"])
    fs.copyFileSync(path.join(root, file), path.join(bin, path.basename(file)));
  fs.copyFileSync(path.join(root, "LICENSE"), path.join(components, "LICENSE"));
  return 0;
}

void main().then((status) => (process.exitCode = status));
