// jest's environment for Node, which forgets at its end what a test file's copy of Pulumi's SDK holds on to. Each copy has an
// AsyncLocalStorage (runtime/state.js) that follows every promise of the process from then on. So each test file would make all later
// ones of its worker slower.
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
