// In place of @npmcli/arborist, which Pulumi's SDK loads to serialize functions (runtime/closure/codePaths.js). No test does that,
// and loading it takes half a second in each test file.
module.exports = class {
  constructor() {
    throw new Error(
      "tests/support/no-arborist.js: a test serializes a function; take the mapping out of jest.config.js",
    );
  }
};
