// Before the tests of the lab: how many labs may run at once, counted over all files and checkouts (lab/session/turn.ts).
const { availableParallelism, homedir } = require("node:os");
const { join } = require("node:path");

module.exports = () => {
  // A lab waits for its machines and their limits for more than half of its life.
  process.env.TALOS_GPU_LABS_AT_ONCE ??= String(2 * availableParallelism());
  // The tests want the catalogue's versions of the tools.
  process.env.TALOS_GPU_LAB_TOOLS ??= "own";
  // Go collects garbage less often: a lab ends before its programs need the memory.
  process.env.GOGC ??= "400";
  process.env.TALOS_GPU_LAB_TURNS ??= join(homedir(), ".cache/talos-gpu/turns");
};
