// Copies a stack's configuration from a pull request's commit into main's working tree, for a preview with credentials.
// Only the stack's description of its cluster may differ from main. Refuses everything with further effects, and names
// each reason:
//
// - other parts of the stack file (`environment` reads secrets from Pulumi ESC, `secretsprovider` calls a service);
// - configuration of other projects and providers, e.g. `kubernetes:kubeconfig`;
// - credentials, and the addresses to which they are sent;
// - encrypted values, which another field might print.
//
//   node .github/scripts/take-stack.js STACK COMMIT
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { isDeepStrictEqual } = require("node:util");
const { parse } = require("yaml");

const largest = 1024 * 1024;
/**
 * Fields of a stack with credentials, or with the addresses to which they are sent (components/stack/configuration.ts,
 * credentialKeys).
 */
const credentials = [
  "talosconfig",
  "machineSecrets",
  "kubeconfig",
  "omniEndpoint",
  "omniServiceAccountKey",
];
const project = "talos-gpu:";

const [stack = "", commit = ""] = process.argv.slice(2);
if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(stack)) throw new Error(`${stack} is not a stack name`);
if (!/^[0-9a-f]{40}$/.test(commit)) throw new Error(`${commit} is not a commit`);
const file = `stacks/Pulumi.${stack}.yaml`;

const git = (...args) =>
  execFileSync("git", ["--literal-pathspecs", ...args], {
    encoding: "utf8",
    maxBuffer: 2 * largest,
  });

function textOfCommit() {
  const [, mode, id] =
    /^(\d{6}) blob ([0-9a-f]+)\t/.exec(git("ls-tree", "--full-tree", commit, "--", file)) ?? [];
  if (mode !== "100644" && mode !== "100755")
    throw new Error(`${file}: is not a plain file in ${commit}`);
  if (Number(git("cat-file", "-s", id)) > largest)
    throw new Error(`${file}: is larger than 1 MiB in ${commit}`);
  return git("cat-file", "blob", id);
}

/** Content of a stack file, parsed as Pulumi does. */
function read(text) {
  const document = parse(text, { merge: true, maxAliasCount: 10_000 }) ?? {};
  const { config, ...rest } = document;
  return { config: config ?? {}, rest };
}

/** Whether a key describes the cluster, and not credentials. */
function isOfCluster(key) {
  if (!key.includes(":")) return !credentials.includes(key);
  return key.startsWith(project) && !credentials.includes(key.slice(project.length));
}

/** Whether a value contains an encrypted value (`secure: v1:…`). */
function hasSecret(value) {
  if (value === null || typeof value !== "object") return false;
  return "secure" in value || Object.values(value).some(hasSecret);
}

function refusals(before, after) {
  const refused = [];
  for (const key of new Set([...Object.keys(before.rest), ...Object.keys(after.rest)]))
    if (!isDeepStrictEqual(before.rest[key], after.rest[key]))
      refused.push(`${key}: differs from main`);
  for (const key of new Set([...Object.keys(before.config), ...Object.keys(after.config)])) {
    if (isDeepStrictEqual(before.config[key], after.config[key])) continue;
    if (!isOfCluster(key)) refused.push(`config.${key}: differs from main`);
    else if (hasSecret(after.config[key]))
      refused.push(`config.${key}: has an encrypted value, and differs from main`);
  }
  return refused;
}

const before = fs.existsSync(file) ? read(fs.readFileSync(file, "utf8")) : { config: {}, rest: {} };
const after = read(textOfCommit());
const refused = refusals(before, after);
if (refused.length > 0)
  throw new Error(
    `${file}: this preview is left out: from a pull request, it accepts only changes to a stack's description of its cluster; merge these first:\n${refused.map((one) => `  ${JSON.stringify(one)}`).join("\n")}`,
  );
fs.mkdirSync(path.dirname(file), { recursive: true });
fs.rmSync(file, { force: true });
// Writes the parsed content that was judged, since another YAML reader might read the text differently. JSON is YAML.
fs.writeFileSync(file, `${JSON.stringify({ ...after.rest, config: after.config }, null, 2)}\n`);
