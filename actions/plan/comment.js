// Comments what a pull request's stack files would do, and keeps that one comment up to date. Runs the code next to it: of the pull
// request it reads only stack files and the files that these name, out of git's tree and as data. So a fork's may be planned with a token
// at hand.
//
//   node actions/plan/comment.js NUMBER FOLDER LIMIT
//
// FOLDER has the stack files, from the repository's root. LIMIT: seconds that the plan of one stack may take.
/* global console */
const { execFileSync, spawnSync } = require("node:child_process");
const path = require("node:path");
const { parse } = require("yaml");

const marker = "<!-- talos-gpu plan -->";
/** Longest comment that GitHub takes is 65536 characters. */
const longest = 60_000;
/** Most that a program may print, in bytes. */
const largest = 16 * 1024 * 1024;
/** Longest stack file that is looked at, in bytes. */
const longestFile = 1024 * 1024;
/** Most stacks that one comment is about. */
const most = 20;
const [number = "", folder = ".", limit = "120"] = process.argv.slice(2);
if (!/^\d+$/.test(number)) throw new Error(`${number} is no number of a pull request`);
if (!/^[1-9]\d{0,3}$/.test(limit))
  throw new Error(`limit: ${limit} is no number of seconds, at most 9999`);

/** The folder without a slash at its end; `.` is the root. */
const stackFolder = path.posix.normalize(folder).replace(/\/$/, "");

const git = (...args) =>
  execFileSync("git", ["--literal-pathspecs", ...args], { encoding: "utf8", maxBuffer: largest });
const repository = process.env.GITHUB_REPOSITORY;
const command = path.join(__dirname, "..", "..", "components", "bin", "cli.js");

/** Text from other people mentions no account, closes no marker, and stays out of the page's own HTML. */
const harmless = (text) => text.replaceAll("@", "@\u200b").replaceAll("<!--", "&lt;!--");

/** The plan of a stack. What parses the pull request's files has no token in its environment. */
function planOf(file, base, head) {
  const { PATH, HOME } = process.env;
  return spawnSync(
    process.execPath,
    [command, "plan", "--stack", file, "--at", head, "--base", base],
    {
      encoding: "utf8",
      env: { PATH, HOME },
      timeout: Number(limit) * 1000,
      killSignal: "SIGKILL", // a program that computes would not see SIGTERM
      maxBuffer: largest,
    },
  );
}

function section({ stack, file }, base, head) {
  const title = `## Plan of ${stack}`;
  if (git("ls-tree", "--full-tree", head, "--", file).trim() === "")
    return `${title}\n\nIts file goes. Nothing is taken down by that: \`pulumi destroy -s ${stack}\` does it.`;
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

/** A stack file of the folder, by its path; none where it is another file. */
function stackOf(file) {
  const { dir, base } = path.posix.parse(file);
  const stack = /^Pulumi\.([A-Za-z0-9][A-Za-z0-9._-]*)\.yaml$/.exec(base)?.[1];
  return stack === undefined || (dir || ".") !== stackFolder ? [] : [{ stack, file }];
}

/** Files of a commit that a stack file names under `external.files`; none where it cannot be read, which its plan tells. */
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
  sections.push(`${stacks.length - most} more stacks change. They are not planned here.`);
const origin =
  "Computed from the files of the pull request, by code that is not the pull request's.";
console.log(comment(sections.length === 0 ? undefined : [origin, ...sections].join("\n\n")));
