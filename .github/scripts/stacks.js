// Which stacks a run is about, and whether a machine of each may reboot: what the workflows' matrices are made of.
//
//   node .github/scripts/stacks.js all       every stack, against the commit of its last successful update
//   node .github/scripts/stacks.js changed BASE HEAD   the stacks whose files are not the same in two commits
//
// Prints `stacks=[…]`, for GITHUB_OUTPUT. A stack whose last update is not known counts as one that reboots: the
// approval is then asked for once too often, and not once too little.
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");

const pattern = /^stacks\/Pulumi\.([A-Za-z0-9][A-Za-z0-9._-]*)\.yaml$/;
const run = (command, ...args) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

/** Names of the stacks whose files are in a list that `git … -z` prints. */
const named = (list) => list.split("\0").flatMap((file) => pattern.exec(file)?.[1] ?? []);

/** An environment's deployments, newest first, down to the last one that succeeded; GitHub keeps them. */
function sinceSuccess(environment) {
  const query = `repos/${process.env.GITHUB_REPOSITORY}/deployments?environment=${encodeURIComponent(environment)}&per_page=20`;
  const found = [];
  for (const { id, sha, created_at } of JSON.parse(run("gh", "api", query))) {
    const statuses = JSON.parse(
      run("gh", "api", `repos/${process.env.GITHUB_REPOSITORY}/deployments/${id}/statuses`),
    );
    const succeeded = statuses.some(({ state }) => state === "success");
    found.push({ sha, created_at, succeeded });
    if (succeeded) break;
  }
  return found;
}

/**
 * Commit of the last successful update, in either of the stack's two environments. Undefined where an approved update came after
 * it and failed: that one may have changed machines. A commit that reverts the change reboots them again, although the plan against the
 * last success finds no difference.
 */
function lastUpdate(stack) {
  const [plain, approved] = [stack, `${stack}-reboots`].map(sinceSuccess);
  const [last] = [...plain, ...approved]
    .filter(({ succeeded }) => succeeded)
    .sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return last && approved.some(({ created_at }) => created_at > last.created_at)
    ? undefined
    : last?.sha;
}

/** What else a plan follows from than the stack's file; the plan computes both sides by the code that is there now. */
const code = ["components", "stacks/*.ts", "package-lock.json"];

/** Whether the plan says that a machine may reboot. */
function mayReboot(stack, base) {
  if (base === undefined || !/^[0-9a-f]{40}$/.test(base)) return true;
  try {
    if (run("git", "diff", "--name-only", base, "HEAD", "--", ...code) !== "") return true;
    const plan = JSON.parse(
      run("npm", "run", "--silent", "plan", "--", "--stack", stack, "--base", base, "--json"),
    );
    return plan.base === undefined || plan.machines.some(({ reboots }) => reboots !== "no");
  } catch {
    return true; // refused, or a commit that is not there any more: a person looks
  }
}

const [what, base, head] = process.argv.slice(2);
let stacks;
if (what === "changed") {
  stacks = named(
    run("git", "diff", "--name-only", "--diff-filter=d", "-z", base, head, "--", "stacks/"),
  ).map((stack) => ({ stack }));
} else {
  stacks = named(run("git", "ls-files", "-z", "--", "stacks/")).map((stack) => {
    const reboots = mayReboot(stack, lastUpdate(stack));
    return { stack, reboots, environment: reboots ? `${stack}-reboots` : stack };
  });
}
fs.writeSync(1, `stacks=${JSON.stringify(stacks)}\n`);
