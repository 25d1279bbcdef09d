const { availableParallelism } = require("node:os");

// Only labs with published parts (LAB_OPTIONS) ask the outer world by Node: the machine program asks their chart repositories. Where Node
// is told of certificates for it, it reads them at each start: two thirds of one.
if (!process.env.LAB_OPTIONS) delete process.env.NODE_EXTRA_CA_CERTS;

/** @type {import("jest").Config} */
module.exports = {
  testEnvironment: "<rootDir>/tests/support/environment.js",
  // @pulumi/pulumi keeps its store on `global`; jest's clean-up of globals would break it between test files.
  testEnvironmentOptions: { globalsCleanup: "off" },
  roots: ["<rootDir>/tests", "<rootDir>/lab/tests"],
  testMatch: ["**/*.test.ts"],
  transform: { "^.+\\.ts$": "<rootDir>/tests/transform.js" },
  moduleNameMapper: {
    "^talos-gpu$": "<rootDir>/components/index.ts",
    "^@pulumiverse/talos$": "<rootDir>/sdk/talos/index.ts",
  },
  testTimeout: 30000,
  // Labs wait more than they work: with a file per core, more than a third of the cores' time is idle.
  maxWorkers: 2 * availableParallelism(),
  maxConcurrency: 2,
  testSequencer: "<rootDir>/tests/sequencer.js",
};
