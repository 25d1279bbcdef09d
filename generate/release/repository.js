const { execFileSync } = require("node:child_process");
const path = require("node:path");

/** Folder of this repository. */
const root = path.join(__dirname, "../..");

/** @type {{ name: string, version: string }} */
const { version } = require("../../components/package.json");

/**
 * Runs a program, and shows its output on standard error.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 */
const run = (program, args, options = {}) =>
  void execFileSync(program, args, {
    cwd: root,
    // On Windows, npm is a script of cmd.
    shell: process.platform === "win32" && /^np[mx]$/.test(program),
    stdio: ["ignore", 2, 2],
    ...options,
  });

module.exports = { root, run, version };
