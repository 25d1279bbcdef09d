// `npm run check`: types, linter, formatter and prose. The linter takes as long as all others, so it has a core to
// itself. Compiler and linter make many short-lived objects: with Node's default space for these (16 MB) the
// collector copies most of them. With 32 MB `tsc` takes a tenth less of a processor.
/* global console */
const { spawn } = require("node:child_process");
const path = require("node:path");

const root = path.dirname(__dirname);
const lanes = [["lint"], ["typecheck", "format:check", "prose"]];

const env = {
  ...process.env,
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ""} --max-semi-space-size=32`.trim(),
};

/** Runs a script of package.json, and shows its output as a whole once it has ended. */
function run(script) {
  const began = Date.now();
  return new Promise((resolve) => {
    let output = "";
    const child = spawn("npm", ["run", "--silent", script], { cwd: root, env });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part) => (output += part));
    child.on("error", (error) => (output += error.message));
    child.on("close", (status) => {
      const seconds = Math.round((Date.now() - began) / 1000);
      console.log(`${output}${script}: ${status === 0 ? "passed" : "failed"} in ${seconds} s`);
      resolve(status === 0);
    });
  });
}

async function runLane(scripts) {
  let passed = true;
  for (const script of scripts) passed = (await run(script)) && passed;
  return passed;
}

void Promise.all(lanes.map(runLane)).then((passed) => process.exit(passed.every(Boolean) ? 0 : 1));
