// In place of @npmcli/arborist, which Pulumi's SDK loads to serialize functions (runtime/closure/codePaths.js). Neither a program nor a
// test of this repository does that, and loading it is half a second of each process and of each test file.
module.exports = class {
  constructor() {
    throw new Error("lab/bundle/no-arborist.js: a function is to be serialized; load the real package again");
  }
};
