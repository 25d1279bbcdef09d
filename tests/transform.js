// Jest's transform of a TypeScript file. It removes the types without checking them, which `tsc` does.
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { transformSync, version } = require("esbuild");

const process = (text, fileName) => {
  const { code, map } = transformSync(text, {
    loader: "ts",
    format: "cjs",
    target: "es2022",
    // Jest runs each file in its own context, in which a native import() is not possible.
    supported: { "dynamic-import": false },
    sourcefile: fileName,
    sourcemap: "external",
  });
  return { code, map };
};

const ownSource = readFileSync(__filename);

/** Without this key, Jest would use cached results of an older version of this file. */
const getCacheKey = (text, fileName) =>
  createHash("sha256")
    .update(JSON.stringify([version, fileName, text]))
    .update(ownSource)
    .digest("hex");

module.exports = { process, getCacheKey };
