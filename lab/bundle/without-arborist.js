// Pulumi's SDK loads @npmcli/arborist to find the packages of functions that it serializes (runtime/closure/codePaths.js). No
// program of this repository has a function serialized, and loading it is half a second of each process.
const sdk = require.resolve("@pulumi/pulumi");
const file = require.resolve("@npmcli/arborist", { paths: [sdk] });

class NoArborist {
  constructor() {
    throw new Error("lab/bundle/without-arborist.js: a function is to be serialized; load the real package again");
  }
}
require.cache[file] = {
  id: file,
  filename: file,
  path: file,
  loaded: true,
  children: [],
  paths: [],
  exports: NoArborist,
};
