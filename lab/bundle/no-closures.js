// In place of the parts of Pulumi's SDK that serialize functions (runtime/closure/serializeClosure.js, codePaths.js). Neither a program
// nor a test of this repository does that, and they load the TypeScript compiler and @npmcli/arborist: most of a second of each process
// and of each test file.
const serialize = () => {
  throw new Error("lab/bundle/no-closures.js: a function is to be serialized; load the SDK's own modules again");
};

module.exports = { serializeFunction: serialize, serializeFunctionAsync: serialize, computeCodePaths: serialize };
