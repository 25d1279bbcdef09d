// Lists the stacks of a run for the workflows' matrices, each with whether one of its machines may reboot.
//
//   node .github/scripts/stacks.js all       every stack, against the commit of its last successful update
//   node .github/scripts/stacks.js changed BASE HEAD   the stacks whose files differ between two commits
//
// Prints `stacks=[…]`, for GITHUB_OUTPUT. A stack without a known last update counts as one that reboots: an
// unnecessary approval is better than a missing one.
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");

const pattern = /^stacks\/Pulumi\.([A-Za-z0-9][A-Za-z0-9._-]*)\.yaml$/;
const run = (command, ...args) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

/** Names of the stacks whose files `git … -z` lists. */
const named = (list) => list.split("\0").flatMap((file) => pattern.exec(file)?.[1] ?? []);

/** An environment's deployments from GitHub, from the newest to the last successful one. */
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
 * Commit of the last successful update, in either of the stack's two environments. Undefined if a later approved update
 * failed, since that update may have changed machines. A commit that reverts the change would then reboot them again,
 * although the plan against the last success finds no difference.
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

/** Paths other than stack files that a plan depends on. The plan computes both sides with the present code. */
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
    return true; // the plan was refused, or the commit no longer exists: a person decides
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
