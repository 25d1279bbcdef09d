// jest's environment for Node. At the end of a test file it turns off the storage of that file's copy of Pulumi's SDK. Each copy has an
// AsyncLocalStorage (runtime/state.js), which follows every later promise of the process. So without this, each test file would slow down
// all later files of its worker.
const { AsyncLocalStorage } = require("node:async_hooks");
const { TestEnvironment } = require("jest-environment-node");

/** The storages in use by the one test file that a worker runs at a time. */
const usedStorages = new Set();
for (const method of ["run", "enterWith"]) {
  const original = AsyncLocalStorage.prototype[method];
  AsyncLocalStorage.prototype[method] = function (...args) {
    usedStorages.add(this);
    return original.apply(this, args);
  };
}

module.exports = class extends TestEnvironment {
  async teardown() {
    for (const storage of usedStorages) storage.disable();
    usedStorages.clear();
    await super.teardown();
  }
};
