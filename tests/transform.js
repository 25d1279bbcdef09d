// What jest runs of a TypeScript file: its types are taken away, and nothing is checked (`tsc` does).
const ts = require("typescript");

const compilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.CommonJS,
  esModuleInterop: true,
  sourceMap: true,
};

const process = (text, fileName) => {
  const { outputText: code, sourceMapText: map } = ts.transpileModule(text, { fileName, compilerOptions });
  return { code, map };
};

module.exports = { process };
