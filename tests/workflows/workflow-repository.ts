import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gitIn } from "../support/git";
import { createCheckout, repository, writeProgram } from "./runner";

/** A repository with stacks in the form in which a workflow has it checked out, and a replacement for `gh`. */
export interface WorkflowRepository {
  temp: string;
  /** The working tree; main is checked out. */
  work: string;
  tools: string;
  git: (...args: string[]) => string;
  /** File of a stack. */
  stackFile: (name: string) => string;
  /** Replaces a text in a stack's file. */
  replaceInStack: (name: string, text: string, replacement: string) => void;
  /** Returns the calls of `gh` so far, and forgets them. */
  takeGitHubCalls: () => { args: string[]; input: string }[];
  /**
   * Sets the answers of `gh`, by path. Any other environment does not exist, and every other path has an empty
   * list.
   */
  setGitHubAnswers: (answers: Record<string, unknown>) => void;
  /** Values of the workflow's expressions. */
  expressions: Record<string, string>;
  /** Folders and expressions with which the steps run. */
  stepOptions: { cwd: string; tools: string; temp: string; expressions: Record<string, string> };
}

/** Creates the repository before the first test of a file, and removes it after the last. */
export function setupWorkflowRepository(stacks: string[]): WorkflowRepository {
  const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-workflows-"));
  const work = path.join(temp, "work");
  const tools = path.join(temp, "tools");
  const git = gitIn(work);
  const stackFile = (name: string): string => path.join(work, "stacks", `Pulumi.${name}.yaml`);
  const callsFile = path.join(temp, "calls.jsonl");
  const answersFile = path.join(temp, "answers.json");
  const expressions = {
    "github.event.pull_request.number": "7",
    "github.server_url": temp,
    "github.repository": "origin",
    "github.token": "token-of-the-job",
    "matrix.stack": "velaryon",
    "vars.OMNI_VERSION": "v1.4.3",
  };

  beforeAll(() => {
    createCheckout(work, stacks);
    const plan = `node ${repository}/lab/bundle/run.js ${repository}/cli/main.ts plan`;
    fs.writeFileSync(
      path.join(work, "package.json"),
      JSON.stringify({ name: "gpus", scripts: { plan } }),
    );
    git("init", "-q", "-b", "main");
    git("add", "stacks", ".github", "actions", "package.json");
    git("commit", "-qm", "main");
    writeProgram(
      tools,
      "gh",
      `const fs = require("node:fs");
const args = process.argv.slice(2);
const input = args.includes("--input") ? fs.readFileSync(0, "utf8") : "";
fs.appendFileSync(${JSON.stringify(callsFile)}, JSON.stringify({ args, input }) + "\\n");
const answers = JSON.parse(fs.readFileSync(${JSON.stringify(answersFile)}, "utf8"));
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
    stackFile,
    expressions,
    replaceInStack: (name, text, replacement) =>
      fs.writeFileSync(
        stackFile(name),
        fs.readFileSync(stackFile(name), "utf8").replace(text, replacement),
      ),
    takeGitHubCalls: () => {
      const text = fs.existsSync(callsFile) ? fs.readFileSync(callsFile, "utf8") : "";
      fs.rmSync(callsFile, { force: true });
      return text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { args: string[]; input: string });
    },
    setGitHubAnswers: (answers) => fs.writeFileSync(answersFile, JSON.stringify(answers)),
    stepOptions: { cwd: work, tools, temp, expressions },
  };
}
