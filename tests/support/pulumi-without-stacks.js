// A transformer for one file of Pulumi's SDK. `debuggablePromise` writes a stack to every promise that it makes (@pulumi/pulumi
// 3.248, runtime/debuggable.js), for leaks that a program leaves behind. Under jest each of them is mapped to its sources, frame
// by frame: half of the time of a test that registers resources.
const written = "value: new Error().stack";

module.exports = {
  process(source) {
    if (!source.includes(written))
      throw new Error(`debuggable.js: has no "${written}"; this transformer is of no use any more`);
    return { code: source.replace(written, 'value: ""') };
  },
};
