// jest's runtime for unit tests: a worker loads packages and the project's own modules once. Jest by itself loads them again for each test
// file, which took most of the tests' time. Only what lies in `tests` is fresh for each file, so that its state stays its own. A module of
// the project keeps no state that one test file could leave for the next; each file loads the parts of Pulumi's SDK that keep
// state again.
const Module = require("node:module");
const path = require("node:path");
const vm = require("node:vm");
const Runtime = require("jest-runtime").default;

const root = path.resolve(__dirname, "../../..");
const testFolders = ["tests", "lab/tests"].map((folder) => path.join(root, folder) + path.sep);
/** Loads a shared module. Its parent is not one of Jest's modules, but an extra module without other use. */
const requireShared = Module.createRequire(path.join(root, "package.json"));
const isInTests = (file) => testFolders.some((folder) => file.startsWith(folder));

/** Jest's functions for the test file that runs: to transform a file, to resolve a name; and its map of source maps. */
let current;
/** Source maps of shared modules: file → file of its map. */
const sharedMaps = new Map();

Module._extensions[".ts"] = (module, file) => {
  const { code, sourceMapPath } = current.transform(file);
  if (sourceMapPath) {
    sharedMaps.set(file, sourceMapPath);
    current.maps.set(file, sourceMapPath);
  }
  module._compile(code, file);
};

// Jest's resolver knows the project's own names for its packages, and that `./tables` is rather TypeScript than JSON.
const resolveFilename = Module._resolveFilename;
Module._resolveFilename = (request, parent, ...otherArguments) =>
  parent?.filename?.endsWith(".ts") && !Module.isBuiltin(request)
    ? current.resolve(parent.filename, request)
    : resolveFilename(request, parent, ...otherArguments);

/**
 * Modules of Pulumi's SDK that keep the state of a run. A test file may leave a run unended, so the next file gets new copies of these
 * modules.
 */
const stateful = ["log/index.js", "runtime/resource.js", "runtime/settings.js", "runtime/state.js"];

/**
 * Removes from the cache of modules those that keep state, and every module that loads one of them, directly or through
 * others.
 */
function forgetRuns() {
  const parents = new Map();
  for (const module of Object.values(require.cache))
    for (const child of module.children)
      parents.set(child, [...(parents.get(child) ?? []), module]);
  const pending = Object.values(require.cache).filter(({ filename }) =>
    stateful.some((part) => filename.endsWith(path.join("@pulumi/pulumi", part))),
  );
  const removed = new Set();
  while (pending.length > 0) {
    const module = pending.pop();
    if (removed.has(module)) continue;
    removed.add(module);
    delete require.cache[module.filename];
    pending.push(...(parents.get(module) ?? []));
  }
  for (const module of Object.values(require.cache))
    module.children = module.children.filter((child) => !removed.has(child));
}

module.exports = class extends Runtime {
  constructor(...args) {
    super(...args);
    const transformer = args[3];
    const maps = this.getSourceMaps();
    for (const [file, map] of sharedMaps) maps.set(file, map);
    this.resolve = (from, name) => this._resolution.resolveCjs(from, name);
    const transform = (file) => transformer.transform(file, this._getFullTransformationOptions());
    current = { maps, resolve: this.resolve, transform };
    const parameters = this.executor.injectedModuleParameters;
    this.executor.compile = (source, filename) =>
      vm.compileFunction(source, parameters, { filename });
  }

  requireModuleOrMock(from, name) {
    if (Module.isBuiltin(name) || name === "@jest/globals")
      return super.requireModuleOrMock(from, name);
    const file = this.resolve(from, name);
    return isInTests(file) ? super.requireModuleOrMock(from, name) : requireShared(file);
  }

  teardown() {
    super.teardown();
    forgetRuns();
  }
};
