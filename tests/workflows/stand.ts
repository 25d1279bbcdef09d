import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gitIn } from "../support/git";
import { checkout, repository, standIn } from "./runner";

/** A repository with stacks in the form in which a workflow has it checked out, and a replacement for `gh`. */
export interface Stand {
  temp: string;
  /** The working tree; main is checked out. */
  work: string;
  tools: string;
  git: (...args: string[]) => string;
  /** File of a stack. */
  stack: (name: string) => string;
  /** Replaces a text in a stack's file. */
  change: (name: string, from: string, to: string) => void;
  /** Calls of `gh` since the previous look. */
  calls: () => { args: string[]; input: string }[];
  /**
   * Sets the answers of `gh`, by path. Any other environment does not exist, and every other path has an empty
   * list.
   */
  answers: (given: Record<string, unknown>) => void;
  /** Values of the workflow's expressions. */
  expressions: Record<string, string>;
  /** Folders and expressions with which the steps run. */
  where: { cwd: string; tools: string; temp: string; expressions: Record<string, string> };
}

/** Prepares the stand before the first test of a file, and removes it after the last. */
export function workflowStand(stacks: string[]): Stand {
  const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-workflows-"));
  const work = path.join(temp, "work");
  const tools = path.join(temp, "tools");
  const git = gitIn(work);
  const stack = (name: string): string => path.join(work, "stacks", `Pulumi.${name}.yaml`);
  const called = path.join(temp, "calls.jsonl");
  const answered = path.join(temp, "answers.json");
  const expressions = {
    "github.event.pull_request.number": "7",
    "github.server_url": temp,
    "github.repository": "origin",
    "github.token": "token-of-the-job",
    "matrix.stack": "velaryon",
    "vars.OMNI_VERSION": "v1.4.3",
  };

  beforeAll(() => {
    checkout(work, stacks);
    const plan = `node ${repository}/lab/bundle/run.js ${repository}/cli/main.ts plan`;
    fs.writeFileSync(
      path.join(work, "package.json"),
      JSON.stringify({ name: "gpus", scripts: { plan } }),
    );
    git("init", "-q", "-b", "main");
    git("add", "stacks", ".github", "actions", "package.json");
    git("commit", "-qm", "main");
    standIn(
      tools,
      "gh",
      `const fs = require("node:fs");
const args = process.argv.slice(2);
const input = args.includes("--input") ? fs.readFileSync(0, "utf8") : "";
fs.appendFileSync(${JSON.stringify(called)}, JSON.stringify({ args, input }) + "\\n");
const answers = JSON.parse(fs.readFileSync(${JSON.stringify(answered)}, "utf8"));
const place = args.find((arg) => arg.startsWith("repos/"));
if (answers[place] === undefined && place.includes("/environments/")) {
  process.stderr.write("gh: Not Found (HTTP 404)");
  process.exit(1);
}
process.stdout.write(JSON.stringify(answers[place] ?? []));`,
    );
  });
  afterAll(() => fs.rmSync(temp, { recursive: true }));

  return {
    temp,
    work,
    tools,
    git,
    stack,
    expressions,
    change: (name, from, to) =>
      fs.writeFileSync(stack(name), fs.readFileSync(stack(name), "utf8").replace(from, to)),
    calls: () => {
      const text = fs.existsSync(called) ? fs.readFileSync(called, "utf8") : "";
      fs.rmSync(called, { force: true });
      return text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { args: string[]; input: string });
    },
    answers: (given) => fs.writeFileSync(answered, JSON.stringify(given)),
    where: { cwd: work, tools, temp, expressions },
  };
}
