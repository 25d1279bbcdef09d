// Writes a workflow's secret credentials to files that only the runner's user can read. Names the files in the
// environment of the following steps. Skips secrets that the environment lacks. Omni's credentials need no files: the
// step that needs them gets their variables.
const fs = require("node:fs");
const path = require("node:path");

for (const name of ["TALOSCONFIG", "TALOS_SECRETS", "KUBECONFIG"]) {
  const content = process.env[`${name}_CONTENT`];
  if (!content) continue;
  const file = path.join(process.env.RUNNER_TEMP, name.toLowerCase());
  fs.writeFileSync(file, content, { mode: 0o600 });
  fs.appendFileSync(process.env.GITHUB_ENV, `${name}=${file}\n`);
}
