import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parseOptions } from "../../lab/options";
import { stacks } from "../support/stacks";
import { parse } from "yaml";
import {
  actions,
  workflowsFolder,
  readWorkflow,
  readAction,
  repository,
  runStep,
  type Step,
  writeProgram,
  findStep,
} from "./runner";

const files = fs.readdirSync(workflowsFolder);
const stepsOf = (file: string) =>
  Object.values(readWorkflow(file).jobs).flatMap((job) => job.steps ?? []);

/** An action by a commit's hash, which cannot change to other code, or an action of this repository. */
const pinnedAction = /^(?:[\w.-]+\/[\w./-]+@[0-9a-f]{40}|\.\/actions\/[\w-]+)$/;

/** Fails unless each line with an action of another owner has its release in a comment; Dependabot renews both. */
function expectReleaseComments(text: string): void {
  const lines = text.split("\n").filter((line) => /uses: +[^.\s]/.test(line));
  for (const line of lines) expect(line).toMatch(/uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
}

/** Rules for every step of a workflow or an action. */
function expectSafe(steps: Step[]): void {
  for (const { run, uses } of steps) {
    if (run !== undefined) expect(run).not.toContain("${{");
    if (uses !== undefined) expect(uses).toMatch(pinnedAction);
  }
}

describe.each(files)("%s", (file) => {
  const workflow = readWorkflow(file);
  const steps = stepsOf(file);

  test("declares its permissions, with contents: read", () => {
    expect(workflow.permissions).toEqual(expect.objectContaining({ contents: "read" }));
  });

  // An expression in a script may put a stranger's text into a shell. The commit fixes the code of another owner's
  // action.
  test("puts no expression into a script, and pins each action to a commit", () => {
    expectSafe(steps);
    expectReleaseComments(fs.readFileSync(path.join(workflowsFolder, file), "utf8"));
  });

  // All later steps can read the token in .git/config. The only job that pushes passes its token to the step that
  // pushes.
  test("checks out without leaving credentials in .git/config", () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts).not.toEqual([]);
    for (const { with: inputs } of checkouts)
      expect(inputs).toMatchObject({ "persist-credentials": false });
  });

  test("runs only scripts that exist", () => {
    const scripts = steps.flatMap(({ run }) =>
      [...(run ?? "").matchAll(/(?:\.github|actions)\/\S+\.(?:js|sh)/g)].map(([script]) => script),
    );
    for (const script of scripts) expect(fs.existsSync(path.join(repository, script))).toBe(true);
  });

  test("sets a time limit for each job", () => {
    for (const job of Object.values(workflow.jobs))
      expect(job.uses?.startsWith("./.github/workflows/") || job["timeout-minutes"]).toBeTruthy();
  });

  // GitHub's tokens for other services prove the identity of a run, and only a job that publishes needs this.
  test("requests an identity token only in a job publish", () => {
    const jobsWithIdToken = Object.entries(workflow.jobs).filter(
      ([, { permissions }]) => permissions?.["id-token"] === "write",
    );
    expect(jobsWithIdToken.filter(([name]) => name !== "publish")).toEqual([]);
  });
});

describe.each(actions)("the action %s", (name) => {
  const action = readAction(name);
  const text = fs.readFileSync(path.join(repository, "actions", name, "action.yml"), "utf8");

  test("puts no expression into a script, and pins each action to a commit", () => {
    expectSafe(action.runs.steps);
    expectReleaseComments(text);
  });

  test("describes each input, and runs only scripts that exist", () => {
    expect(action.runs.using).toBe("composite");
    for (const { description } of Object.values(action.inputs)) expect(description).toMatch(/\w/);
    for (const { run, shell } of action.runs.steps) {
      expect(run === undefined).toBe(shell === undefined);
      for (const [, script] of (run ?? "").matchAll(/\$GITHUB_ACTION_PATH\/([\w.-]+\.(?:js|sh))/g))
        expect(fs.existsSync(path.join(repository, "actions", name, script!))).toBe(true);
    }
  });

  test("declares exactly the inputs that it uses", () => {
    const usedInputs = [...text.matchAll(/inputs\.([\w-]+)/g)].map(([, input]) => input);
    expect([...new Set(usedInputs)].sort()).toEqual(Object.keys(action.inputs).sort());
  });
});

test("all workflows and actions use the same release of each action", () => {
  const texts = [
    ...files.map((file) => path.join(workflowsFolder, file)),
    ...actions.map((name) => path.join(repository, "actions", name, "action.yml")),
  ].map((file) => fs.readFileSync(file, "utf8"));
  const usages = texts.flatMap((text) => [
    ...text.matchAll(/uses: ([\w/.-]+)(@[0-9a-f]{40} # \S+)/g),
  ]);
  const releases = new Map<string, Set<string>>();
  for (const [, action, release] of usages)
    releases.set(action!, (releases.get(action!) ?? new Set()).add(release!));
  for (const [action, releasesOfAction] of releases)
    expect([action, ...releasesOfAction]).toHaveLength(2);
});

test("Dependabot renews all actions and npm packages", () => {
  const { updates } = parse(
    fs.readFileSync(path.join(repository, ".github/dependabot.yml"), "utf8"),
  ) as {
    updates: { "package-ecosystem": string; directory?: string; directories?: string[] }[];
  };
  const foldersOf = (ecosystem: string): string[] =>
    updates
      .filter((update) => update["package-ecosystem"] === ecosystem)
      .flatMap(({ directory, directories = [] }) => [
        ...(directory === undefined ? [] : [directory]),
        ...directories,
      ]);
  expect(foldersOf("github-actions")).toEqual(["/", ...actions.map((name) => `/actions/${name}`)]);
  expect(foldersOf("npm")).toEqual(["/", "/docs"]);
});

test("this file tests every action in the folder actions", () => {
  const entries = fs.readdirSync(path.join(repository, "actions"), { withFileTypes: true });
  expect(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)).toEqual([
    ...actions,
  ]);
});

describe("a pull request's code", () => {
  /** Workflows that have a token while they read another author's change. */
  const privilegedWorkflows = files.filter((file) =>
    ["pull_request_target", "workflow_run"].some((event) => event in readWorkflow(file).on),
  );

  test("is read by a workflow with a token only in plan.yml and preview.yml", () =>
    expect(privilegedWorkflows).toEqual(["plan.yml", "preview.yml"]));

  test.each(privilegedWorkflows)("never runs in %s", (file) => {
    const text = fs.readFileSync(path.join(workflowsFolder, file), "utf8");
    const checkouts = stepsOf(file).filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts).not.toEqual([]);
    for (const { with: inputs } of checkouts) {
      expect(inputs).not.toHaveProperty("ref");
      expect(inputs).not.toHaveProperty("repository");
    }
    expect(text).not.toMatch(/head_ref|head\.ref/);
    expect(text).not.toMatch(/git (checkout|switch|merge(?!-base)|reset|pull|worktree)\b/);
    // An earlier run of a pull request could have written code into a cache.
    for (const { with: inputs } of stepsOf(file)) expect(inputs ?? {}).not.toHaveProperty("cache");
  });

  test("gets no secret in plan.yml", () =>
    expect(fs.readFileSync(path.join(workflowsFolder, "plan.yml"), "utf8")).not.toContain(
      "secrets.",
    ));

  test("gets secrets in preview.yml only in an environment, and never from a fork", () => {
    const { stacks, preview } = readWorkflow("preview.yml").jobs;
    expect(stacks).toMatchObject({
      if: "github.event.pull_request.head.repo.full_name == github.repository",
    });
    expect(JSON.stringify(stacks)).not.toContain("secrets.");
    expect(preview).toMatchObject({ needs: "stacks", environment: "${{ matrix.stack }}-preview" });
  });
});

test("up.yml runs only on main, and preview.yml only for pull requests to main", () => {
  expect(readWorkflow("up.yml").on).toEqual({ push: { branches: ["main"] } });
  expect(readWorkflow("up.yml").jobs["up"]).toMatchObject({
    if: "github.ref == 'refs/heads/main'",
  });
  expect(readWorkflow("preview.yml").on).toMatchObject({
    pull_request_target: { branches: ["main"] },
  });
});

test("the job conformance updates every stack twice with the published plugins", () => {
  const { strategy, steps } = readWorkflow("conformance.yml").jobs["conformance"]!;
  expect(strategy).toMatchObject({ matrix: { stack: stacks } });
  const labCommand = /npm run --silent lab -- (.*)$/.exec(
    steps!.find(({ run }) => run?.includes("run --silent lab"))?.run ?? "",
  );
  const options = parseOptions(labCommand![1]!.replace('"$STACK"', "modern").split(" "));
  expect(options).toMatchObject({ updates: 2, pulumi: "installed" });
});

test("the job judged runs only existing tests, with the published plugins", () => {
  const { strategy, steps } = readWorkflow("conformance.yml").jobs["judged"]!;
  const { tests } = (strategy as { matrix: { tests: string[] } }).matrix;
  const missing = tests.filter((testPath) => !fs.existsSync(path.join(repository, testPath)));
  expect(missing).toEqual([]);
  const { env } = steps!.find(({ run }) => run?.includes("npm run test:lab"))!;
  expect(parseOptions(env!["LAB_OPTIONS"]!.split(" "))).toMatchObject({ pulumi: "installed" });
});

describe("the job node", () => {
  const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-workflow-node-"));
  const tools = path.join(temp, "tools");
  const step = findStep(readWorkflow("checks.yml"), "node", "lab/tests/real-node");
  const calls = path.join(temp, "calls");
  // Records commands that would run as root, without running them; `sudo` itself still works.
  const recordCall = (status: number): string =>
    `require("node:fs").appendFileSync(${JSON.stringify(calls)}, [require("node:path").basename(process.argv[1]), ...process.argv.slice(2), process.env.TALOS_GPU_REAL_NODE ?? "not asked for"].join(" ") + "\\n");
process.exit(${status});`;
  const passOn = `const [, ...args] = process.argv.slice(2);
process.exit(require("node:child_process").spawnSync(args[0], args.slice(1), { stdio: "inherit" }).status);`;
  const runJob = (npmStatus: number): { status: number | null; commands: string[] } => {
    fs.rmSync(calls, { force: true });
    writeProgram(tools, "sudo", passOn);
    writeProgram(tools, "npm", recordCall(npmStatus));
    writeProgram(tools, "npx", recordCall(0));
    const { status } = runStep(step, { cwd: temp, tools, temp, expressions: {} });
    return { status, commands: fs.readFileSync(calls, "utf8").trim().split("\n") };
  };
  afterAll(() => fs.rmSync(temp, { recursive: true }));

  test("builds its tools and runs its tests as root", () => {
    expect(runJob(0)).toEqual({
      status: 0,
      commands: [
        "npm run --silent tools -- --node --look 1",
        "npx jest --ci lab/tests/real-node tests/e2e/stacks.test.ts tests/e2e/in-use.test.ts 1",
      ],
    });
  });

  test("fails if the runner cannot have a real node, instead of skipping the tests", () => {
    expect(runJob(1)).toEqual({
      status: 1,
      commands: ["npm run --silent tools -- --node --look 1"],
    });
  });
});

test("up.yml updates one stack at a time, in the environment that its first job chose", () => {
  const { concurrency, jobs } = readWorkflow("up.yml");
  expect(concurrency).toEqual({ group: "up", "cancel-in-progress": false });
  expect(jobs["up"]).toMatchObject({
    strategy: { "max-parallel": 1 },
    environment: "${{ matrix.environment }}",
  });
});

describe("the site", () => {
  const lock = JSON.parse(
    fs.readFileSync(path.join(repository, "docs/package-lock.json"), "utf8"),
  ) as {
    packages: Record<
      string,
      { integrity?: string; resolved?: string; devDependencies?: Record<string, string> }
    >;
  };
  const { "": root, ...packages } = lock.packages;

  // It is published, so the tools that build it must not change by themselves.
  test("is built from a lock file with each package's hash and no registry but npm's", () => {
    const { scripts } = JSON.parse(
      fs.readFileSync(path.join(repository, "package.json"), "utf8"),
    ) as {
      scripts: Record<string, string>;
    };
    expect(scripts["site"]).toMatch(/^npm ci --prefix docs --ignore-scripts && /);
    expect(Object.keys(packages).length).toBeGreaterThan(100);
    for (const { integrity, resolved } of Object.values(packages)) {
      expect(integrity).toMatch(/^sha512-/);
      expect(resolved ?? "https://registry.npmjs.org/").toMatch(
        /^https:\/\/registry\.npmjs\.org\//,
      );
    }
  });

  test("has the same packages in docs/package.json and its lock file", () => {
    const { devDependencies } = JSON.parse(
      fs.readFileSync(path.join(repository, "docs/package.json"), "utf8"),
    ) as {
      devDependencies: Record<string, string>;
    };
    expect(root!.devDependencies).toEqual(devDependencies);
  });
});
