// Comments what a pull request's stack files would do, and keeps that one comment up to date. Runs the base branch's code:
// of the pull request it takes the stack files alone, and as data, so that one from a fork may be planned with a token at hand.
//
//   node .github/scripts/plan-comment.js NUMBER
/* global console */
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");

const marker = "<!-- talos-gpu plan -->";
/** Longest comment that GitHub takes is 65536 characters. */
const longest = 60_000;
/** Longest stack file that is looked at. */
const largest = 1024 * 1024;
const number = process.argv[2] ?? "";
if (!/^\d+$/.test(number)) throw new Error(`${number} is no number of a pull request`);

const git = (...args) => execFileSync("git", args, { encoding: "utf8", maxBuffer: 16 * largest });
const repository = process.env.GITHUB_REPOSITORY;

/** What other people wrote calls nobody and closes no marker, and stays out of the page's own HTML. */
const harmless = (text) => text.replaceAll("@", "@\u200b").replaceAll("<!--", "&lt;!--");

function section(stack, base, head) {
  const file = `stacks/Pulumi.${stack}.yaml`;
  const entry = git("ls-tree", head, file).trim();
  if (entry === "")
    return `## Plan of ${stack}\n\nIts file goes. Nothing is taken down by that: \`pulumi destroy -s ${stack}\` does it.`;
  if (!/^100(644|755) blob /.test(entry))
    return `## Plan of ${stack}\n\nIts file is no plain file, and is not looked at.`;
  if (Number(git("cat-file", "-s", `${head}:${file}`)) > largest)
    return `## Plan of ${stack}\n\nIts file is too large to look at.`;
  fs.rmSync(file, { force: true });
  fs.writeFileSync(file, git("show", `${head}:${file}`));
  const { stdout, stderr, status } = spawnSync(
    "npm",
    ["run", "--silent", "plan", "--", "--stack", stack, "--base", base],
    { encoding: "utf8", timeout: 120_000, maxBuffer: 16 * largest },
  );
  if (status === 0 || (status === 1 && stdout !== "")) return harmless(stdout.trimEnd());
  const lines = (stderr ?? "")
    .trim()
    .split("\n")
    .slice(-5)
    .map((line) => `    ${line}`);
  return `## Plan of ${stack}\n\nIt cannot be planned:\n\n${harmless(lines.join("\n"))}`;
}

function comment(body) {
  const pages = JSON.parse(
    execFileSync("gh", ["api", "--paginate", "--slurp", `repos/${repository}/issues/${number}/comments?per_page=100`], {
      encoding: "utf8",
      maxBuffer: 64 * largest,
    }),
  );
  const ours = pages.flat().find(({ body: text, user }) => user.type === "Bot" && text.startsWith(marker));
  if (ours === undefined && body === undefined) return "nothing to say";
  const text = `${marker}\n${body ?? "No stack changes any more."}`;
  const cut =
    text.length <= longest
      ? text
      : `${text.slice(0, longest)}\n\n… the plan is longer; \`npm run plan\` says all of it.`;
  const [method, place] =
    ours === undefined ? ["POST", `issues/${number}/comments`] : ["PATCH", `issues/comments/${ours.id}`];
  execFileSync("gh", ["api", "--method", method, `repos/${repository}/${place}`, "--input", "-"], {
    input: JSON.stringify({ body: cut }),
    stdio: ["pipe", "ignore", "inherit"],
  });
  return ours === undefined ? "commented" : "comment brought up to date";
}

const head = git("rev-parse", "--verify", `refs/pull/${number}/head`).trim();
const base = git("merge-base", "HEAD", head).trim();
const stacks = git("diff", "--name-only", "-z", base, head, "--", "stacks/")
  .split("\0")
  .flatMap((file) => /^stacks\/Pulumi\.([A-Za-z0-9][A-Za-z0-9._-]*)\.yaml$/.exec(file)?.[1] ?? []);
const sections = stacks.map((stack) => section(stack, base, head));
console.log(comment(sections.length === 0 ? undefined : sections.join("\n\n")));
