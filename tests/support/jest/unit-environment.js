// jest's environment for unit tests: the worker's own global scope. Jest's usual one is a scope for each test file. In such a scope each
// use of a global name (Object, Map, JSON) goes through a proxy, and each file loads every package again. Here shared.js loads packages
// once per worker, and there is one `Error` and one `Array`, as where the program runs. At the end of a test file, everything that the file
// changed in the process is put back.
const Environment = require("./environment");

/** A global that Google's messages make when they are loaded, which is once per worker. */
const globalsOfPackages = new Set(["proto"]);

/** Properties of the process that are put back. Other properties are Node's own state, such as its channel to Jest. */
const processProperties = ["argv", "exit", "kill", "stderr", "stdin", "stdout"];

/** Saves properties of an object; returns a function that puts them back. */
function saveProperties(object, keys = () => Reflect.ownKeys(object)) {
  const descriptorOf = (key) => Reflect.getOwnPropertyDescriptor(object, key);
  const savedDescriptors = new Map(keys().map((key) => [key, descriptorOf(key)]));
  return () => {
    for (const key of keys())
      if (!savedDescriptors.has(key) && !globalsOfPackages.has(key))
        Reflect.deleteProperty(object, key);
    for (const [key, { value, get, ...attributes }] of savedDescriptors) {
      const current = descriptorOf(key);
      if (current?.value === value && current?.get === get) continue;
      if (!current || current.configurable)
        Reflect.defineProperty(
          object,
          key,
          get ? { get, ...attributes } : { value, ...attributes },
        );
    }
  };
}

/** Saves the listeners of the process; returns a function that removes those that were added later. */
function saveListeners() {
  const savedListeners = new Map(
    process.eventNames().map((name) => [name, process.rawListeners(name)]),
  );
  return () => {
    for (const name of process.eventNames())
      for (const listener of process.rawListeners(name))
        if (!savedListeners.get(name)?.includes(listener)) process.removeListener(name, listener);
  };
}

module.exports = class extends Environment {
  constructor(config, context) {
    super(config, context);
    const [folder, { exitCode }] = [process.cwd(), process];
    this.restore = [
      saveProperties(globalThis),
      saveProperties(process, () => processProperties),
      saveProperties(process.env),
      saveListeners(),
      () => process.chdir(folder),
      () => (process.exitCode = exitCode),
    ];
    const { moduleMocker, fakeTimersModern } = this;
    this.global = globalThis;
    this.moduleMocker = new moduleMocker.constructor(globalThis);
    this.fakeTimersModern = new fakeTimersModern.constructor({
      config: config.projectConfig,
      global: globalThis,
    });
    this.fakeTimers = null; // Jest's legacy fake timers, which no test uses
  }

  async setup() {
    await super.setup();
    // Jest asks for 100 frames of each error. Pulumi's SDK writes down the stack of every promise, and each frame costs its way through a
    // source map: for a cluster that was half of the time.
    Error.stackTraceLimit = 10;
  }

  async teardown() {
    await super.teardown();
    for (const restore of this.restore) restore();
    this.global = null;
  }
};
