// Warns if an environment with a cluster's credentials accepts branches other than main: an author who can push such a
// branch can read the credentials in a workflow of that branch, whatever main's workflows say. Changes nothing.
//
//   node .github/scripts/environments.js MAIN
//
// GitHub, REST API "Deployment environments" and "Deployment branch policies".
/* global console */
const { execFileSync } = require("node:child_process");

const main = process.argv[2] ?? "";
const repository = process.env.GITHUB_REPOSITORY;

const named = execFileSync("git", ["ls-files", "-z", "--", "stacks/"], { encoding: "utf8" })
  .split("\0")
  .flatMap((file) => /^stacks\/Pulumi\.([A-Za-z0-9][A-Za-z0-9._-]*)\.yaml$/.exec(file)?.[1] ?? []);

/** An answer of GitHub; undefined if GitHub has no such object. */
function ask(place) {
  try {
    const answer = execFileSync("gh", ["api", `repos/${repository}/${place}`], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    return JSON.parse(answer);
  } catch (error) {
    if (/HTTP 404/.test(String(error.stderr))) return undefined;
    throw error;
  }
}

/**
 * Refs other than main that an environment accepts, in words; undefined if there are none, or if the environment does
 * not exist.
 */
function takes(environment) {
  const place = `environments/${encodeURIComponent(environment)}`;
  const found = ask(place);
  if (found === undefined) return undefined;
  const policy = found.deployment_branch_policy;
  if (!policy) return "every branch";
  if (policy.protected_branches) return "every protected branch";
  const { branch_policies: patterns = [] } = ask(`${place}/deployment-branch-policies`) ?? {};
  const others = patterns.filter(
    ({ name, type }) => name !== main || (type !== undefined && type !== "branch"),
  );
  return others.length === 0
    ? undefined
    : others.map(({ name }) => JSON.stringify(name)).join(", ");
}

for (const environment of named.flatMap((stack) => [
  stack,
  `${stack}-preview`,
  `${stack}-reboots`,
])) {
  const refs = takes(environment);
  if (refs !== undefined)
    console.log(
      `::warning title=environment ${environment}::It accepts ${refs}, so every author who can push there can read its credentials. Allow only ${main}: Settings, Environments, ${environment}, Deployment branches and tags.`,
    );
}
