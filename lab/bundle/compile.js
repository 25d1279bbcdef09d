// Compiles a bundle with what V8 kept of an earlier run. For a short program, that is half of its time.
const fs = require("node:fs");
const { createRequire, wrap } = require("node:module");
const path = require("node:path");
const { constants, Script } = require("node:vm");
const { put } = require("./put");

/**
 * The code of a bundle. Evaluated, it gives its exports; each time anew, as if no module of it had been there before.
 *
 * @param file a CommonJS file, absolute
 * @param kept what V8 made of it, named for its content: V8 itself tells two contents apart by their length alone
 * @returns evaluates it
 */
function compile(file, kept = `${file}.v8`) {
  const cachedData = fs.existsSync(kept) ? fs.readFileSync(kept) : undefined;
  const script = new Script(wrap(fs.readFileSync(file, "utf8")), {
    filename: file,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  // V8 rejects what another release of it made. At the end, since what ran is compiled by then.
  if (cachedData === undefined || script.cachedDataRejected) process.once("exit", () => keep(script, kept));
  const evaluate = script.runInThisContext();
  return () => {
    const module = { exports: {} };
    evaluate.call(module.exports, module.exports, createRequire(file), module, file, path.dirname(file));
    return module.exports;
  };
}

function keep(script, kept) {
  try {
    put(kept, script.createCachedData());
  } catch {
    // A full disk, say: the next run compiles again, and this one ends as it would have.
  }
}

module.exports = { compile };
