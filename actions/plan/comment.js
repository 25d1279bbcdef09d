// Comments on a pull request with the plans of its stack files, and updates that one comment. Runs only this
// repository's code: from the pull request it reads stack files and the files that they name, from git's tree and as
// data. So it may plan a fork's pull request although it has a token.
//
//   node actions/plan/comment.js NUMBER FOLDER LIMIT
// FOLDER: folder of the stack files, from the repository's root. LIMIT: seconds for the plan of one stack.
/* global console */
const { execFileSync, spawnSync } = require("node:child_process");
const path = require("node:path");
const { parse } = require("yaml");

const marker = "<!-- talos-gpu plan -->";
/** GitHub accepts comments of at most 65536 characters. */
const longest = 60_000;
/** Most that a program may print, in bytes. */
const largest = 16 * 1024 * 1024;
/** Longest stack file that is planned, in bytes. */
const longestFile = 1024 * 1024;
/** Largest number of stacks in one comment. */
const most = 20;
const [number = "", folder = ".", limit = "120"] = process.argv.slice(2);
if (!/^\d+$/.test(number)) throw new Error(`${number} is not the number of a pull request`);
if (!/^[1-9]\d{0,3}$/.test(limit))
  throw new Error(`limit: ${limit} is not a number of seconds; write at most 9999`);

/** The folder without a slash at its end; `.` is the root. */
const stackFolder = path.posix.normalize(folder).replace(/\/$/, "");

const git = (...args) =>
  execFileSync("git", ["--literal-pathspecs", ...args], { encoding: "utf8", maxBuffer: largest });
const repository = process.env.GITHUB_REPOSITORY;
const command = path.join(__dirname, "..", "..", "components", "bin", "cli.js");

/** Other people's text without its effects: it mentions no account, and opens no HTML comment that could hide text. */
const harmless = (text) => text.replaceAll("@", "@\u200b").replaceAll("<!--", "&lt;!--");

/** The plan of a stack. The process that parses the pull request's files has no token in its environment. */
function planOf(file, base, head) {
  const { PATH, HOME } = process.env;
  return spawnSync(
    process.execPath,
    [command, "plan", "--stack", file, "--at", head, "--base", base],
    {
      encoding: "utf8",
      env: { PATH, HOME },
      timeout: Number(limit) * 1000,
      killSignal: "SIGKILL", // a busy program would not handle SIGTERM
      maxBuffer: largest,
    },
  );
}

function section({ stack, file }, base, head) {
  const title = `## Plan of ${stack}`;
  if (git("ls-tree", "--full-tree", head, "--", file).trim() === "")
    return `${title}\n\nThe pull request deletes its file. That does not destroy the stack: \`pulumi destroy -s ${stack}\` does.`;
  const { stdout, stderr, status, error } = planOf(file, base, head);
  if (status === 0 || (status === 1 && stdout !== "")) return harmless(stdout.trimEnd());
  if (error?.code === "ETIMEDOUT")
    return `${title}\n\nIt cannot be planned: it took more than ${limit} seconds.`;
  const lines = (stderr ?? "")
    .trim()
    .split("\n")
    .slice(-5)
    .map((line) => `    ${line}`);
  return `${title}\n\nIt cannot be planned:\n\n${harmless(lines.join("\n"))}`;
}

function comment(body) {
  const pages = JSON.parse(
    execFileSync(
      "gh",
      [
        "api",
        "--paginate",
        "--slurp",
        `repos/${repository}/issues/${number}/comments?per_page=100`,
      ],
      {
        encoding: "utf8",
        maxBuffer: 4 * largest,
      },
    ),
  );
  const ours = pages
    .flat()
    .find(({ body: text, user }) => user.type === "Bot" && text.startsWith(marker));
  if (ours === undefined && body === undefined) return "nothing to say";
  const text = `${marker}\n${body ?? "No stack changes any more."}`;
  const cut =
    text.length <= longest
      ? text
      : `${text.slice(0, longest)}\n\n… the plan is longer; \`talos-gpu plan\` prints all of it.`;
  const [method, place] =
    ours === undefined
      ? ["POST", `issues/${number}/comments`]
      : ["PATCH", `issues/comments/${ours.id}`];
  execFileSync("gh", ["api", "--method", method, `repos/${repository}/${place}`, "--input", "-"], {
    input: JSON.stringify({ body: cut }),
    stdio: ["pipe", "ignore", "inherit"],
  });
  return ours === undefined ? "commented" : "comment brought up to date";
}

/** The stack of a path in the folder; empty if the path is not a stack file. */
function stackOf(file) {
  const { dir, base } = path.posix.parse(file);
  const stack = /^Pulumi\.([A-Za-z0-9][A-Za-z0-9._-]*)\.yaml$/.exec(base)?.[1];
  return stack === undefined || (dir || ".") !== stackFolder ? [] : [{ stack, file }];
}

/**
 * Files of a commit that a stack file names under `external.files`; empty if it cannot be read, which its plan reports.
 */
function namedBy(file, commit) {
  try {
    if (Number(git("cat-file", "-s", `${commit}:${file}`)) > longestFile) return [];
    const { config } = parse(git("cat-file", "blob", `${commit}:${file}`), { merge: true });
    const { files } = config["talos-gpu:external"] ?? config["external"];
    return files.map((name) => path.posix.join(path.posix.dirname(file), String(name)));
  } catch {
    return [];
  }
}

const head = git("rev-parse", "--verify", `refs/pull/${number}/head`).trim();
const base = git("merge-base", "HEAD", head).trim();
const changed = git("diff", "--name-only", "-z", base, head).split("\0");
const there = git(
  "ls-tree",
  "-r",
  "-z",
  "--name-only",
  "--full-tree",
  head,
  ...(stackFolder === "." ? [] : ["--", stackFolder]),
)
  .split("\0")
  .filter((file) => stackOf(file).length > 0 && !changed.includes(file))
  .filter((file) => namedBy(file, head).some((name) => changed.includes(name)));
const stacks = [...changed, ...there].flatMap(stackOf);
const sections = stacks.slice(0, most).map((stack) => section(stack, base, head));
if (stacks.length > most)
  sections.push(
    `${stacks.length - most} more stacks change; this comment does not contain their plans.`,
  );
const origin = "Computed from the files of the pull request, with code that does not come from it.";
console.log(comment(sections.length === 0 ? undefined : [origin, ...sections].join("\n\n")));
