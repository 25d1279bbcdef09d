const fs = require("node:fs");
const { createRequire, wrap } = require("node:module");
const path = require("node:path");
const { constants, Script } = require("node:vm");

/**
 * The code of a bundle. Evaluated, it gives its exports; each time as if no module of it had been there before.
 *
 * @param file a CommonJS file, absolute
 * @returns evaluates it
 */
function compile(file) {
  const script = new Script(wrap(fs.readFileSync(file, "utf8")), {
    filename: file,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const evaluate = script.runInThisContext();
  return () => {
    const module = { exports: {} };
    evaluate.call(module.exports, module.exports, createRequire(file), module, file, path.dirname(file));
    return module.exports;
  };
}

module.exports = { compile };
