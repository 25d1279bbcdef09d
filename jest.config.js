const { availableParallelism } = require("node:os");
const { labTests } = require("./tests/kinds");

// Only labs with published parts (LAB_OPTIONS) ask servers outside this computer from Node: the machine program asks their chart
// repositories. Node reads additional certificates at each start, which takes two thirds of that start.
if (!process.env.LAB_OPTIONS) delete process.env.NODE_EXTRA_CA_CERTS;

const common = {
  // @pulumi/pulumi keeps its store on `global`; jest's clean-up of globals would break it between test files.
  testEnvironmentOptions: { globalsCleanup: "off" },
  roots: ["<rootDir>/tests", "<rootDir>/lab/tests"],
  transform: { "^.+\\.ts$": "<rootDir>/tests/transform.js" },
  moduleNameMapper: {
    "^talos-gpu$": "<rootDir>/components/index.ts",
    "^talos-gpu/stack\\.js$": "<rootDir>/components/stack/index.ts",
    "^@pulumiverse/talos$": "<rootDir>/sdk/talos/index.ts",
  },
};

/** @type {import("jest").Config} */
module.exports = {
  projects: [
    {
      ...common,
      displayName: "unit",
      testEnvironment: "<rootDir>/tests/support/jest/unit-environment.js",
      runtime: "<rootDir>/tests/support/jest/shared.js",
      testMatch: ["<rootDir>/tests/**/*.test.ts"],
      testPathIgnorePatterns: ["/node_modules/", ...labTests],
      setupFilesAfterEnv: ["<rootDir>/tests/support/jest/unit-limit.js"],
    },
    {
      ...common,
      displayName: "lab",
      testEnvironment: "<rootDir>/tests/support/jest/environment.js",
      testRegex: labTests.map((part) => `${part}.*\\.test\\.ts$`),
      setupFilesAfterEnv: ["<rootDir>/tests/support/jest/lab-limit.js"],
      globalSetup: "<rootDir>/tests/support/jest/lab-turns.js",
    },
  ],
  // Files of the lab wait for their turns, and labs wait for their machines more than they work.
  maxWorkers: 2 * availableParallelism(),
  // The labs of one file also take turns with those of others.
  maxConcurrency: 4,
  testSequencer: "<rootDir>/tests/sequencer.js",
};
