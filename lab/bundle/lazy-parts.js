// Pulumi's SDK needs two packages only to serialize a function, which no program of this repository does: the compiler
// and npm's reader of dependency trees (sdk/nodejs/runtime/closure/parseFunction.ts, codePaths.ts). Loading them takes
// most of the SDK's start, so they are loaded when they are used.
const Module = require("node:module");

const packages = ["typescript", "@npmcli/arborist"];

/** Puts a stand-in for a package into the cache of modules. Its first use loads the package. */
function loadWhenUsed(requireOfSdk, name) {
  const file = requireOfSdk.resolve(name);
  if (require.cache[file] !== undefined) return;
  let loaded;
  const load = () => {
    if (loaded === undefined) {
      delete require.cache[file];
      loaded = requireOfSdk(name);
    }
    return loaded;
  };
  const standIn = new Module(file);
  Object.assign(standIn, { filename: file, loaded: true });
  // With `__esModule`, the SDK's code takes the object as it is, instead of a copy of all of its properties.
  standIn.exports = new Proxy({}, { get: (_, key) => key === "__esModule" || load()[key] });
  require.cache[file] = standIn;
}

/** Lets the SDK's rarely used packages load only when they are used. Call it before the SDK is loaded. */
function loadPartsWhenUsed() {
  let requireOfSdk;
  try {
    requireOfSdk = Module.createRequire(require.resolve("@pulumi/pulumi/package.json"));
  } catch {
    return; // a program without the SDK
  }
  for (const name of packages) loadWhenUsed(requireOfSdk, name);
}

module.exports = { loadPartsWhenUsed };
