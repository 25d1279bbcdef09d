import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gitIn } from "../support/git";
import { checkout, read, repository, runStep, standIn, stepOf } from "./runner";

describe("the steps of the workflows", () => {
  const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-workflows-"));
  const [work, origin, tools] = ["work", "origin", "tools"].map((name) => path.join(temp, name)) as [
    string,
    string,
    string,
  ];
  const git = gitIn(work);
  const stack = (name: string): string => path.join(work, "stacks", `Pulumi.${name}.yaml`);
  const change = (name: string, from: string, to: string): void =>
    fs.writeFileSync(stack(name), fs.readFileSync(stack(name), "utf8").replace(from, to));
  const calls = (): { args: string[]; input: string }[] => {
    const file = path.join(temp, "calls.jsonl");
    const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
    fs.rmSync(file, { force: true });
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { args: string[]; input: string });
  };
  const answers = (given: Record<string, unknown>): void =>
    fs.writeFileSync(path.join(temp, "answers.json"), JSON.stringify(given));
  const expressions = {
    "github.event.pull_request.number": "7",
    "github.server_url": temp,
    "github.repository": "origin",
    "github.token": "token-of-the-job",
    "matrix.stack": "velaryon",
    "vars.OMNI_VERSION": "v1.4.3",
  };
  const where = { cwd: work, tools, temp, expressions };
  let first: string;

  beforeAll(() => {
    checkout(work, ["velaryon", "rtx3090", "frank"]);
    const plan = `node ${repository}/lab/bundle/run.js ${repository}/cli/main.ts plan`;
    fs.writeFileSync(path.join(work, "package.json"), JSON.stringify({ name: "gpus", scripts: { plan } }));
    git("init", "-q", "-b", "main");
    git("add", "stacks", ".github", "package.json");
    git("commit", "-qm", "main");
    first = git("rev-parse", "HEAD").trim();
    standIn(
      tools,
      "gh",
      `const fs = require("node:fs");
const args = process.argv.slice(2);
const input = args.includes("--input") ? fs.readFileSync(0, "utf8") : "";
fs.appendFileSync(${JSON.stringify(path.join(temp, "calls.jsonl"))}, JSON.stringify({ args, input }) + "\\n");
const answers = JSON.parse(fs.readFileSync(${JSON.stringify(path.join(temp, "answers.json"))}, "utf8"));
const place = args.find((arg) => arg.startsWith("repos/"));
process.stdout.write(JSON.stringify(answers[place] ?? []));`,
    );
  });
  afterAll(() => fs.rmSync(temp, { recursive: true }));

  describe("of plan.yml, on a fork's pull request", () => {
    const workflow = read("plan.yml");
    const comments = "repos/owner/gpus/issues/7/comments?per_page=100";

    beforeAll(() => {
      // The fork's branch: a stack is edited, another one is no file, and its code would leave a mark.
      git("checkout", "-qb", "fork");
      change("velaryon", "slot: X", 'slot: "<!-- @everyone"');
      fs.rmSync(stack("rtx3090"));
      fs.symlinkSync("/etc/passwd", stack("rtx3090"));
      const mark = `touch ${temp}/foreign-code`;
      fs.writeFileSync(path.join(work, "package.json"), JSON.stringify({ scripts: { plan: mark, prepare: mark } }));
      fs.writeFileSync(
        path.join(work, ".github", "scripts", "plan-comment.js"),
        `require("fs").writeFileSync("${temp}/foreign-code", "")`,
      );
      git("add", ".github", "stacks", "package.json");
      git("commit", "-qm", "edit");
      execFileSync("git", ["clone", "-q", "--bare", work, origin]);
      execFileSync("git", ["-C", origin, "update-ref", "refs/pull/7/head", "refs/heads/fork"]);
      git("checkout", "-q", "main");
      git("branch", "-qD", "fork");
      expect(runStep(stepOf(workflow, "plan", "fetch"), where)).toMatchObject({ status: 0 });
    });
    afterEach(() => void git("checkout", "-q", "--", "."));

    const comment = () => runStep(stepOf(workflow, "plan", "plan-comment.js"), where);

    test("comment on each changed stack, by the base branch's code", () => {
      answers({ [comments]: [[]] });
      expect(comment()).toMatchObject({ status: 0, said: "commented\n" });
      const post = calls().at(-1)!;
      expect(post.args).toEqual(expect.arrayContaining(["POST", "repos/owner/gpus/issues/7/comments"]));
      const { body } = JSON.parse(post.input) as { body: string };
      expect(body).toMatch(/^<!-- talos-gpu plan -->\n## Plan of rtx3090\n\nIts file is no plain file/);
      expect(body).toContain("## Plan of velaryon");
      expect(body).not.toContain("@everyone");
      expect(body).not.toContain("root:");
      expect(body.match(/<!--/g)).toHaveLength(1);
      expect(fs.existsSync(path.join(temp, "foreign-code"))).toBe(false);
    });

    test("bring that comment up to date, and nobody else's", () => {
      const marked = "<!-- talos-gpu plan -->\nold";
      answers({
        [comments]: [
          [{ id: 1, body: marked, user: { type: "User" } }],
          [{ id: 2, body: marked, user: { type: "Bot" } }],
        ],
      });
      expect(comment()).toMatchObject({ status: 0, said: "comment brought up to date\n" });
      expect(calls().at(-1)!.args).toEqual(expect.arrayContaining(["PATCH", "repos/owner/gpus/issues/comments/2"]));
    });
  });

  describe("of preview.yml", () => {
    test("are about the stacks that change", () => {
      git("checkout", "-qb", "edit");
      change("velaryon", "slot: X", "slot: Y");
      git("commit", "-qam", "edit");
      const step = stepOf(read("preview.yml"), "stacks", "stacks.js");
      const { status, output } = runStep(step, {
        ...where,
        expressions: { "github.event.pull_request.base.sha": "main" },
      });
      git("checkout", "-q", "main");
      git("branch", "-qD", "edit");
      expect([status, output]).toEqual([0, 'stacks=[{"stack":"velaryon"}]\n']);
    });
  });

  describe("of up.yml", () => {
    const workflow = read("up.yml");
    const deployments = (environment: string): string =>
      `repos/owner/gpus/deployments?environment=${environment}&per_page=20`;

    test("ask for approval where a machine may reboot since the last successful update", () => {
      change("velaryon", "slot: X", "slot: Y");
      change("rtx3090", "v1.10.9", "v1.10.8");
      git("commit", "-qam", "edit");
      const deployed = [
        { id: 2, sha: "f".repeat(40), created_at: "2026-02-02" },
        { id: 1, sha: first, created_at: "2026-01-01" },
      ];
      answers({
        [deployments("velaryon")]: deployed,
        [deployments("rtx3090-reboots")]: deployed,
        "repos/owner/gpus/deployments/1/statuses": [{ state: "inactive" }, { state: "success" }],
        "repos/owner/gpus/deployments/2/statuses": [{ state: "failure" }],
      });
      const { status, output, said } = runStep(stepOf(workflow, "stacks", "stacks.js"), where);
      expect([status, said]).toEqual([0, ""]);
      expect(JSON.parse(output.replace("stacks=", ""))).toEqual([
        { stack: "frank", reboots: true, environment: "frank-reboots" }, // nobody knows of an update of it
        { stack: "rtx3090", reboots: true, environment: "rtx3090-reboots" },
        { stack: "velaryon", reboots: false, environment: "velaryon" },
      ]);
    });

    test.each([
      ["an approved update that failed after", "velaryon-reboots", "2026-02-02", true],
      ["an approved update that failed before", "velaryon-reboots", "2025-12-31", false],
      ["an update without approval that failed after", "velaryon", "2026-02-02", false],
    ])("ask for approval, or not, by %s the last success", (_what, environment, created_at, reboots) => {
      // The commit of the failed update is not in the branch any more: what it did to a machine, no plan tells.
      const failed = { id: 2, sha: "f".repeat(40), created_at };
      const succeeded = { id: 1, sha: git("rev-parse", "HEAD").trim(), created_at: "2026-01-01" };
      const other = environment === "velaryon" ? "velaryon-reboots" : "velaryon";
      answers({
        [deployments(environment)]: [failed],
        [deployments(other)]: [succeeded],
        "repos/owner/gpus/deployments/1/statuses": [{ state: "success" }],
        "repos/owner/gpus/deployments/2/statuses": [{ state: "failure" }, { state: "in_progress" }],
      });
      const { status, output } = runStep(stepOf(workflow, "stacks", "stacks.js"), where);
      expect(status).toBe(0);
      const stacks = JSON.parse(output.replace("stacks=", "")) as { stack: string; reboots: boolean }[];
      expect(stacks.find(({ stack: name }) => name === "velaryon")).toMatchObject({ reboots });
    });

    test("ask for approval where the code has changed by which a plan is computed", () => {
      fs.mkdirSync(path.join(work, "components"), { recursive: true });
      fs.writeFileSync(path.join(work, "components", "recipe.ts"), "");
      git("add", "components");
      git("commit", "-qm", "code");
      const { output } = runStep(stepOf(workflow, "stacks", "stacks.js"), where);
      expect(output).toContain('{"stack":"velaryon","reboots":true,"environment":"velaryon-reboots"}');
    });
  });
});
