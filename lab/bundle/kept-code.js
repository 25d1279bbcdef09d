// `node --require` of the programs that a lab starts, the machine program first: the package's own bundles are compiled with what V8
// kept of an earlier run, as the lab's are. A program that asks Kubernetes something takes half of its time without.
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");

const repository = path.resolve(__dirname, "../..");
const bundles = new Set(
  ["program.js", "kubernetes-client.js"].map((name) => path.join(repository, "components/bin", name)),
);

const load = Module._extensions[".js"];
Module._extensions[".js"] = (module, file) => {
  if (!bundles.has(file)) return load(module, file);
  const { compile } = require("./compile"); // not for a program that needs neither
  const { mtimeMs, size } = fs.statSync(file);
  const kept = path.join(repository, "node_modules/.cache/talos-gpu", `${path.basename(file)}-${mtimeMs}-${size}.v8`);
  module.exports = compile(file, kept)();
};
