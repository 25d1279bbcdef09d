/** @type {import("jest").Config} */
module.exports = {
  testEnvironment: "node",
  // @pulumi/pulumi keeps its store on `global`; jest's clean-up of globals would break it between test files.
  testEnvironmentOptions: { globalsCleanup: "off" },
  roots: ["<rootDir>/tests"],
  testMatch: ["**/*.test.ts"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { target: "es2022", parser: { syntax: "typescript" } }, module: { type: "commonjs" } },
    ],
  },
  moduleNameMapper: {
    "^talos-gpu$": "<rootDir>/components/index.ts",
    "^@pulumiverse/talos$": "<rootDir>/sdk/talos/index.ts",
  },
  testTimeout: 30000,
  // Labs mostly wait: on two cores two files at a time, and two labs of each.
  maxWorkers: "100%",
  maxConcurrency: 2,
  testSequencer: "<rootDir>/tests/sequencer.js",
};
