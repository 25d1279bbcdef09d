/**
 * The two kinds of tests, as parts of their files' paths.
 *
 * Unit tests need Node alone. `npm test` runs them. All others are tests of the lab: they start labs, or programs that the lab's tools
 * are built from with Go. `npm run test:lab` runs those.
 */
const labTests = [
  "/lab/tests/",
  "/tests/e2e/",
  "/tests/machine/talosctl-",
  "/tests/diagnosis/alerts",
  "/tests/sdk/(languages|own-folder|packed|release)",
];

module.exports = { labTests };
