import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

export const repository = path.join(__dirname, "..", "..");
export const workflowsFolder = path.join(repository, ".github", "workflows");

/** Folders of `actions`, each an action that other repositories may use. */
export const actions = ["check", "plan"] as const;

export interface Step {
  name?: string;
  id?: string;
  uses?: string;
  run?: string;
  shell?: string;
  with?: Record<string, unknown>;
  env?: Record<string, string>;
}
export interface Job {
  permissions?: Record<string, string>;
  environment?: string;
  if?: string;
  "timeout-minutes"?: number;
  strategy?: { "max-parallel"?: number };
  /** Another workflow, which the job runs instead of steps. */
  uses?: string;
  needs?: string | string[];
  steps?: Step[];
}
export interface Workflow {
  name: string;
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  concurrency?: unknown;
  jobs: Record<string, Job>;
}

export const readWorkflow = (file: string): Workflow =>
  parse(fs.readFileSync(path.join(workflowsFolder, file), "utf8")) as Workflow;

/** An action of this repository, from its action.yml. */
export interface Action {
  name: string;
  description: string;
  inputs: Record<string, { description: string; default?: string }>;
  runs: { using: string; steps: Step[] };
}

export const readAction = (name: string): Action =>
  parse(fs.readFileSync(path.join(repository, "actions", name, "action.yml"), "utf8")) as Action;

/** The step of an action whose command contains a text. */
export const findActionStep = ({ runs }: Action, command: string): Step =>
  runs.steps.find(({ run }) => run?.includes(command))!;

/** The step of a job whose command contains a text. */
export const findStep = (workflow: Workflow, job: string, command: string): Step =>
  workflow.jobs[job]!.steps!.find(({ run }) => run?.includes(command))!;

/** The result of a step. */
export interface StepResult {
  status: number | null;
  /** Standard output and standard error. */
  log: string;
  /** The lines that the step wrote to GITHUB_OUTPUT, GITHUB_ENV and GITHUB_PATH. */
  output: string;
}

/**
 * Runs a step as GitHub's runner does (`bash -e`), with replacements of programs first on PATH. Expressions are
 * taken from a table; the test fails if one is missing there.
 */
export function runStep(
  step: Step,
  options: {
    cwd: string;
    tools: string;
    temp: string;
    expressions: Record<string, string>;
    environment?: NodeJS.ProcessEnv;
  },
): StepResult {
  const resolveExpressions = (text: string): string =>
    text.replace(/\$\{\{\s*(.+?)\s*\}\}/g, (_, expression: string) => {
      const value = options.expressions[expression];
      if (value === undefined) throw new Error(`no value for the expression ${expression}`);
      return value;
    });
  const files = ["GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH"].map(
    (name) => [name, path.join(options.temp, name)] as const,
  );
  for (const [, file] of files) fs.writeFileSync(file, "");
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["-e", "-o", "pipefail", "-c", resolveExpressions(step.run!)],
    {
      cwd: options.cwd,
      encoding: "utf8",
      env: {
        ...process.env,
        ...Object.fromEntries(files),
        GITHUB_REPOSITORY: "owner/gpus",
        RUNNER_TEMP: options.temp,
        ...Object.fromEntries(
          Object.entries(step.env ?? {}).map(([key, text]) => [key, resolveExpressions(text)]),
        ),
        ...options.environment,
        PATH: `${options.tools}${path.delimiter}${process.env["PATH"]}`,
      },
    },
  );
  const output = files.map(([, file]) => fs.readFileSync(file, "utf8")).join("");
  return { status, log: `${stdout}${stderr}`, output };
}

/**
 * Copies some of the stacks into a folder, with the files that the workflows run, as in a checkout with installed
 * packages.
 */
export function createCheckout(work: string, stacks: string[] = []): void {
  for (const name of [
    ".github",
    "actions",
    ...stacks.map((stack) => `stacks/Pulumi.${stack}.yaml`),
  ])
    fs.cpSync(path.join(repository, name), path.join(work, name), { recursive: true });
  fs.symlinkSync(path.join(repository, "node_modules"), path.join(work, "node_modules"));
  writeProgram(path.join(work, "components/bin"), "cli.js", commandProgram);
}

/** A program that runs the package's command from its sources, in place of the bundle that the build makes. */
const commandProgram = `const args = ${JSON.stringify([`${repository}/lab/bundle/run.js`, `${repository}/cli/main.ts`])};
const { status } = require("node:child_process").spawnSync(process.execPath, [...args, ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(status);`;

/** Writes a program in JavaScript into a folder, e.g. a replacement of `gh` into a folder on PATH. */
export function writeProgram(folder: string, name: string, source: string): void {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, name), `#!${process.execPath}\n${source}`, { mode: 0o755 });
}
