import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parseOptions } from "../../lab/options";
import { stackNames } from "../../stacks/stack-file";
import { folder, read, repository, runStep, standIn, stepOf } from "./runner";

const files = fs.readdirSync(folder);
const stepsOf = (file: string) => Object.values(read(file).jobs).flatMap((job) => job.steps ?? []);

describe.each(files)("%s", (file) => {
  const workflow = read(file);
  const steps = stepsOf(file);

  test("says what it may do", () => {
    expect(workflow.permissions).toEqual(expect.objectContaining({ contents: "read" }));
  });

  // An expression in a script is text that somebody else may have written, put into a shell.
  test("puts no expression into a script", () => {
    for (const { run } of steps) expect(run ?? "").not.toContain("${{");
  });

  test("runs scripts that are there", () => {
    const scripts = steps.flatMap(({ run }) =>
      [...(run ?? "").matchAll(/\.github\/\S+\.(?:js|sh)/g)].map(([script]) => script),
    );
    for (const script of scripts) expect(fs.existsSync(path.join(repository, script))).toBe(true);
  });

  // What an action of somebody else's does is decided by its release, and what runs at all by a limit.
  test("names each action's release, and limits each job", () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w/-]+@v\d/);
    for (const job of Object.values(workflow.jobs))
      expect(job.uses?.startsWith("./.github/workflows/") || job["timeout-minutes"]).toBeTruthy();
  });
});

describe("others' code", () => {
  /** Those that have a token while they look at somebody else's change. */
  const privileged = files.filter((file) =>
    ["pull_request_target", "workflow_run"].some((event) => event in read(file).on),
  );

  test("is looked at with a token by plan.yml alone", () => expect(privileged).toEqual(["plan.yml"]));

  test.each(privileged)("never runs in %s", (file) => {
    const text = fs.readFileSync(path.join(folder, file), "utf8");
    expect(text).not.toMatch(/head\.(sha|ref|repo)|head_ref|secrets\./);
    const checkouts = stepsOf(file).filter(({ uses }) => uses?.startsWith("actions/checkout"));
    expect(checkouts).not.toEqual([]);
    for (const { with: given } of checkouts) {
      expect(given).not.toHaveProperty("ref");
      expect(given).toMatchObject({ "persist-credentials": false });
    }
    expect(text).not.toMatch(/git (checkout|switch|merge|reset|pull)\b/);
  });
});

test("every stack lives with the published plugins and charts", () => {
  const { strategy, steps } = read("conformance.yml").jobs["conformance"]!;
  expect(strategy).toMatchObject({ matrix: { stack: stackNames() } });
  const lab = /npm run --silent lab -- (.*)$/.exec(
    steps!.find(({ run }) => run?.includes("run --silent lab"))?.run ?? "",
  );
  const options = parseOptions(lab![1]!.replace('"$STACK"', "modern").split(" "));
  expect(options).toMatchObject({ updates: 2, pulumi: "installed" });
});

test("the published plugins judge tests that there are", () => {
  const { strategy, steps } = read("conformance.yml").jobs["judged"]!;
  const { tests } = (strategy as { matrix: { tests: string[] } }).matrix;
  for (const each of tests)
    expect({ each, there: fs.existsSync(path.join(repository, each)) }).toEqual({ each, there: true });
  const { env } = steps!.find(({ run }) => run?.includes("npm test"))!;
  expect(parseOptions(env!["LAB_OPTIONS"]!.split(" "))).toMatchObject({ pulumi: "installed" });
});

describe("the job of the real node", () => {
  const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-workflow-node-"));
  const tools = path.join(temp, "tools");
  const step = stepOf(read("checks.yml"), "node", "tests/node");
  const calls = path.join(temp, "calls");
  // What is called as root, without being called; `sudo` itself goes on.
  const recorded = (status: number): string =>
    `require("node:fs").appendFileSync(${JSON.stringify(calls)}, [require("node:path").basename(process.argv[1]), ...process.argv.slice(2), process.env.TALOS_GPU_REAL_NODE ?? "not asked for"].join(" ") + "\\n");
process.exit(${status});`;
  const goOn = `const [, ...args] = process.argv.slice(2);
process.exit(require("node:child_process").spawnSync(args[0], args.slice(1), { stdio: "inherit" }).status);`;
  const run = (npm: number): { status: number | null; called: string[] } => {
    fs.rmSync(calls, { force: true });
    standIn(tools, "sudo", goOn);
    standIn(tools, "npm", recorded(npm));
    standIn(tools, "npx", recorded(0));
    const { status } = runStep(step, { cwd: temp, tools, temp, expressions: {} });
    return { status, called: fs.readFileSync(calls, "utf8").trim().split("\n") };
  };
  afterAll(() => fs.rmSync(temp, { recursive: true }));

  test("asks for its tests as root", () => {
    expect(run(0)).toEqual({
      status: 0,
      called: [
        "npm run --silent tools -- --node --look 1",
        "npx jest --ci tests/node tests/e2e/stacks.test.ts tests/e2e/in-use.test.ts 1",
      ],
    });
  });

  test("fails where the runner cannot have one, instead of leaving the tests out", () => {
    expect(run(1)).toEqual({ status: 1, called: ["npm run --silent tools -- --node --look 1"] });
  });
});

test("an update goes one stack at a time, in an environment that follows from its plan", () => {
  const { concurrency, jobs } = read("up.yml");
  expect(concurrency).toEqual({ group: "up", "cancel-in-progress": false });
  expect(jobs["up"]).toMatchObject({ strategy: { "max-parallel": 1 }, environment: "${{ matrix.environment }}" });
});
