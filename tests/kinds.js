/**
 * The two kinds of tests, as parts of their files' paths.
 *
 * Unit tests run in the process of Jest, and start no programs but a shell and git. `npm test` runs them. All others are tests
 * of the lab, which `npm run test:lab` runs.
 */

/** They start labs, or programs that the lab's tools are built from with Go. */
const labs = [
  "/lab/tests/",
  "/tests/e2e/",
  "/tests/machine/talosctl-",
  "/tests/diagnosis/alerts",
  "/tests/sdk/(languages|own-folder|packed|release)",
];

/** They start what users start: the built command, the machine program, Pulumi's hosts, npm, or the steps of workflows. */
const programs = [
  "/tests/cli/(bug-report|hostile-cluster|hostile-verbs|roles|signals|talos-roles|unreadable-cluster)\\b",
  "/tests/cli/check/hostile-command\\b",
  "/tests/cli/discover/verb\\b",
  "/tests/engine/",
  "/tests/generate/(build|prepare)\\b",
  "/tests/program/(credentials|main)\\b",
  "/tests/sdk/stale-build\\b",
  "/tests/workflows/(check-action|clients|facts|plan-action|preview|release|up)\\b",
];

module.exports = { labTests: [...labs, ...programs] };
