// Before the tests of the lab: how many labs may run at once, counted over all files and checkouts (lab/session/turn.ts).
const { availableParallelism, homedir } = require("node:os");
const { join } = require("node:path");

module.exports = () => {
  // A lab keeps a core busy for two thirds of its life.
  process.env.TALOS_GPU_LABS_AT_ONCE ??= String(Math.ceil(1.5 * availableParallelism()));
  // The tests want the catalogue's versions of the tools.
  process.env.TALOS_GPU_LAB_TOOLS ??= "own";
  process.env.TALOS_GPU_LAB_TURNS ??= join(homedir(), ".cache/talos-gpu/turns");
};
