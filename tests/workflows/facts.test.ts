import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gitIn } from "../support/git";
import {
  type StepResult,
  readWorkflow,
  repository,
  runStep,
  writeProgram,
  findStep,
} from "./runner";

const workflow = readWorkflow("facts.yml");
const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-facts-workflow-"));
afterAll(() => fs.rmSync(temp, { recursive: true }));

const table = "components/recipe/facts/data/images.json";
const origin = path.join(temp, "origin.git");
const tools = path.join(temp, "tools");
const callsFile = path.join(temp, "gh.jsonl");
const factsFolder = path.join(temp, "facts");

/** A fresh checkout of main, such as each job has. */
function cloneMain(name: string): string {
  const work = path.join(temp, name);
  execFileSync("git", ["clone", "-q", origin, work]);
  return work;
}

/** Replaces `npm run facts` by a program that writes these files and prints this text. */
function fakeFactsCommand(writtenFiles: Record<string, string>, printedText: string): void {
  writeProgram(
    tools,
    "npm",
    `const fs = require("node:fs");
for (const [file, text] of Object.entries(${JSON.stringify(writtenFiles)})) fs.writeFileSync(file, text);
process.stdout.write(${JSON.stringify(printedText)});`,
  );
}

/** Replaces `gh`, which then answers with the number of the open pull request; empty if none is open. */
function fakeGitHub(openPullRequest: string): void {
  fs.rmSync(callsFile, { force: true });
  writeProgram(
    tools,
    "gh",
    `const fs = require("node:fs");
const args = process.argv.slice(2);
const file = args[args.indexOf("--body-file") + 1];
const body = args.includes("--body-file") ? fs.readFileSync(file, "utf8") : "";
fs.appendFileSync(${JSON.stringify(callsFile)}, JSON.stringify({ args, body, token: process.env.GH_TOKEN }) + "\\n");
if (args[1] === "list") process.stdout.write(${JSON.stringify(openPullRequest)});`,
  );
}

const gitHubCalls = (): { args: string[]; body: string; token: string }[] =>
  fs
    .readFileSync(callsFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { args: string[]; body: string; token: string });

const runJob = (job: "renew" | "propose", cwd: string): StepResult =>
  runStep(findStep(workflow, job, ".github/scripts"), {
    cwd,
    tools,
    temp,
    expressions: { "github.token": "token-of-the-job" },
  });

beforeAll(() => {
  const seed = path.join(temp, "seed");
  const git = gitIn(seed);
  fs.mkdirSync(path.join(seed, path.dirname(table)), { recursive: true });
  fs.cpSync(path.join(repository, ".github"), path.join(seed, ".github"), { recursive: true });
  fs.writeFileSync(path.join(seed, table), '{ "ollama": "1" }\n');
  fs.writeFileSync(path.join(seed, "README.md"), "as it is\n");
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "main");
  execFileSync("git", ["clone", "-q", "--bare", seed, origin]);
  writeProgram(tools, "npx", "");
});
beforeEach(() => fs.rmSync(factsFolder, { recursive: true, force: true }));

test("if the tables are up to date, the job proposes no pull request", () => {
  fakeFactsCommand({}, "nothing new\n");
  const { status, output } = runJob("renew", cloneMain("nothing"));
  expect(status).toBe(0);
  expect(output).toBe("changed=false\n");
  expect(workflow.jobs["propose"]!.if).toBe("needs.renew.outputs.changed == 'true'");
});

test("if no source answers, the job fails", () => {
  writeProgram(
    tools,
    "npm",
    `process.stdout.write("releases: left as they are\\n"); process.exit(1);`,
  );
  expect(runJob("renew", cloneMain("silent")).status).toBe(1);
});

test.each([
  ["", ["pr", "create", "--base", "main", "--head", "facts"]],
  ["7", ["pr", "edit", "7"]],
])(
  "changed tables become one commit on the branch facts, with a pull request (number of the open one: %j)",
  (openPullRequest, expectedArgs) => {
    const printedText =
      "Ollama: 1 → 2\nCUDA: left as it is: </details> **[click](https://evil.example)**\n";
    fakeFactsCommand({ [table]: '{ "ollama": "2" }\n', "README.md": "rewritten\n" }, printedText);
    const renewResult = runJob("renew", cloneMain(`renew-${openPullRequest}`));
    expect(renewResult).toMatchObject({ status: 0, output: "changed=true\n" });

    fakeGitHub(openPullRequest);
    const proposeResult = runJob("propose", cloneMain(`propose-${openPullRequest}`));
    expect(proposeResult.log).not.toContain("token-of-the-job");
    expect(proposeResult.status).toBe(0);
    const git = gitIn(origin);
    expect(git("show", `facts:${table}`)).toBe('{ "ollama": "2" }\n');
    expect(git("diff", "--name-only", "main", "facts").trim()).toBe(table);
    expect(git("rev-list", "--count", "main..facts").trim()).toBe("1");

    const lastCall = gitHubCalls().at(-1)!;
    expect(lastCall.args.slice(0, expectedArgs.length)).toEqual(expectedArgs);
    expect(lastCall.args.join(" ")).not.toContain("token-of-the-job");
    expect(lastCall.token).toBe("token-of-the-job");
    // The registries' answers are in a code block, where they form no link and close no element.
    expect(lastCall.body).toMatch(/^ {4}CUDA: left as it is: <\/details> /m);
    expect(lastCall.body).not.toMatch(/^(?! {4}).*evil\.example/m);
  },
);

test("the branch has only changes of the tables, even if the patch has others", () => {
  const work = cloneMain("tampered");
  const git = gitIn(work);
  fs.writeFileSync(path.join(work, table), '{ "ollama": "3" }\n');
  fs.appendFileSync(path.join(work, ".github/workflows/facts.yml"), "# more\n");
  fs.mkdirSync(factsFolder, { recursive: true });
  fs.writeFileSync(path.join(factsFolder, "facts.patch"), git("diff"));
  fs.writeFileSync(path.join(factsFolder, "lines.txt"), "Ollama: 1 → 3\n");
  fakeGitHub("");
  expect(runJob("propose", cloneMain("tampered-propose")).status).toBe(0);
  expect(gitIn(origin)("diff", "--name-only", "main", "facts").trim()).toBe(table);
});

test("the job that runs packages has no token that can write, and the job with that token runs no package", () => {
  expect(workflow.permissions).toEqual({ contents: "read" });
  const { renew, propose } = workflow.jobs;
  expect(renew!.permissions).toBeUndefined();
  expect(JSON.stringify(renew)).not.toContain("github.token");
  expect(JSON.stringify(propose!.steps)).not.toMatch(/npm|npx|setup-node/);
});
