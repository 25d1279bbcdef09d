// What jest runs of a TypeScript file: its types are taken away, and nothing is checked (`tsc` does).
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { transformSync, version } = require("esbuild");

const process = (text, fileName) => {
  const { code, map } = transformSync(text, {
    loader: "ts",
    format: "cjs",
    target: "es2022",
    // Jest runs each file in a context of its own, in which a native import() is not possible.
    supported: { "dynamic-import": false },
    sourcefile: fileName,
    sourcemap: "external",
  });
  return { code, map };
};

const self = readFileSync(__filename);

/** Without it, Jest would go on with what an older version of this file made. */
const getCacheKey = (text, fileName) =>
  createHash("sha256")
    .update(JSON.stringify([version, fileName, text]))
    .update(self)
    .digest("hex");

module.exports = { process, getCacheKey };
