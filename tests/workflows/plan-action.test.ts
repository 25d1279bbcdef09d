import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { readAction, runStep, writeProgram, findActionStep } from "./runner";
import { setupWorkflowRepository } from "./workflow-repository";

const {
  temp,
  work,
  git,
  stackFile,
  replaceInStack,
  takeGitHubCalls,
  setGitHubAnswers,
  expressions,
  stepOptions,
} = setupWorkflowRepository(["velaryon", "rtx3090"]);
const origin = path.join(temp, "origin");

describe("the steps of the action plan, on a fork's pull request", () => {
  const action = readAction("plan");
  const commentsPath = "repos/owner/gpus/issues/7/comments?per_page=100";
  const secretFile = path.join(temp, "credentials.yaml");
  const actionExpressions = {
    ...expressions,
    "inputs.number": "7",
    "inputs.folder": "stacks",
    "inputs.limit": "60",
    "inputs.token": "token-of-the-job",
  };
  const environment = { GITHUB_ACTION_PATH: path.join(work, "actions/plan") };
  const command = path.join(work, "components/bin/cli.js");

  /** Writes a stack whose release is external, in these files. */
  const writeExternalStack = (name: string, files: string[]): void => {
    const { config } = parse(fs.readFileSync(stackFile("rtx3090"), "utf8")) as {
      config: Record<string, unknown>;
    };
    for (const key of ["gpuOperator", "devicePlugin", "workloads", "sharing"])
      delete config[`talos-gpu:${key}`];
    config["talos-gpu:external"] = { kind: "gpuOperator", version: "v25.10.1", files };
    fs.writeFileSync(stackFile(name), stringify({ config }));
  };

  beforeAll(() => {
    fs.writeFileSync(secretFile, "auths: { ghcr.io: { d: s3cr3t-of-the-runner } }\n");
    // The fork changes a file that a stack of main lists.
    fs.mkdirSync(path.join(work, "flux"));
    fs.writeFileSync(path.join(work, "flux/main.yaml"), "driver: { enabled: false }\n");
    writeExternalStack("named", ["../flux/main.yaml"]);
    writeExternalStack("untouched", ["../flux/other.yaml"]);
    git("add", "flux", "stacks");
    git("commit", "-qm", "external");
    // On the fork's branch one stack is edited, one is not a file, and some list files. Its code would leave a mark
    // if it ran.
    git("checkout", "-qb", "fork");
    replaceInStack("velaryon", "slot: X", 'slot: "<!-- @everyone"');
    writeExternalStack("absolute", [secretFile]);
    writeExternalStack("device", ["/dev/zero"]);
    writeExternalStack("own", ["../flux/values.yaml"]);
    writeExternalStack("upwards", ["../../credentials.yaml"]);
    writeExternalStack("linked", ["../flux/link.yaml"]);
    fs.writeFileSync(
      path.join(work, "flux/main.yaml"),
      "driver: { enabled: false, changedByTheFork: 1 }\n",
    );
    fs.writeFileSync(
      path.join(work, "flux/values.yaml"),
      "driver: { enabled: false, ofThePullRequest: 1 }\n",
    );
    fs.symlinkSync(secretFile, path.join(work, "flux/link.yaml"));
    fs.rmSync(stackFile("rtx3090"));
    fs.symlinkSync("/etc/passwd", stackFile("rtx3090"));
    const runForeignCode = `touch ${temp}/foreign-code`;
    fs.writeFileSync(
      path.join(work, "package.json"),
      JSON.stringify({ scripts: { plan: runForeignCode, prepare: runForeignCode } }),
    );
    for (const code of ["comment.js", "fetch-pull-request.sh"])
      fs.writeFileSync(
        path.join(work, "actions/plan", code),
        `require("fs").writeFileSync("${temp}/foreign-code", "")`,
      );
    git("add", "actions", "flux", "stacks", "package.json");
    git("commit", "-qm", "edit");
    execFileSync("git", ["clone", "-q", "--bare", work, origin]);
    execFileSync("git", ["-C", origin, "update-ref", "refs/pull/7/head", "refs/heads/fork"]);
    git("checkout", "-q", "main");
    git("branch", "-qD", "fork");
    const fetchResult = runStep(findActionStep(action, "fetch-pull-request.sh"), {
      ...stepOptions,
      expressions: actionExpressions,
      environment,
    });
    expect(fetchResult).toMatchObject({ status: 0 });
  });

  const runComment = (inputs: Record<string, string> = {}) =>
    runStep(findActionStep(action, "comment.js"), {
      ...stepOptions,
      expressions: { ...actionExpressions, ...inputs },
      environment,
    });
  const bodyOf = (call: { input: string } | undefined): string =>
    (JSON.parse(call!.input) as { body: string }).body;
  const sectionOf = (body: string, name: string): string =>
    body.split("\n## ").find((section) => section.startsWith(`Plan of ${name}\n`))!;

  describe("comments on each changed stack", () => {
    let body: string;
    beforeAll(() => {
      setGitHubAnswers({ [commentsPath]: [[]] });
      expect(runComment()).toMatchObject({ status: 0, log: "commented\n" });
      const post = takeGitHubCalls().at(-1)!;
      expect(post.args).toEqual(
        expect.arrayContaining(["POST", "repos/owner/gpus/issues/7/comments"]),
      );
      body = bodyOf(post);
    });

    test("the comment begins with the marker, and mentions no account", () => {
      expect(body).toMatch(
        /^<!-- talos-gpu plan -->\nComputed from the files of the pull request, with code that does not come from it\./,
      );
      expect(body).toContain("## Plan of velaryon");
      expect(body).not.toContain("@everyone");
      expect(body.match(/<!--/g)).toHaveLength(1);
    });

    test("no code of the fork runs", () =>
      expect(fs.existsSync(path.join(temp, "foreign-code"))).toBe(false));

    test("the plan uses the pull request's files", () =>
      expect(sectionOf(body, "own")).toContain("ofThePullRequest"));

    test("a stack is also planned if only a file that it names has changed", () => {
      expect(sectionOf(body, "named")).toContain("changedByTheFork");
      expect(sectionOf(body, "untouched")).toBeUndefined();
    });

    test.each([
      ["rtx3090", "it is no plain file"],
      ["absolute", "it is outside of the repository"],
      ["device", "it is outside of the repository"],
      ["upwards", "it is outside of the repository"],
      ["linked", "it is no plain file"],
    ])("the section on the stack %s says why a file was not read: %s", (name, reason) =>
      expect(sectionOf(body, name)).toContain(reason),
    );

    test("the comment has no content of a file that was not read", () => {
      expect(body).not.toContain("s3cr3t");
      expect(body).not.toContain("root:");
    });

    test("stacks and actions stay unchanged in the working tree", () =>
      expect(git("status", "--porcelain", "--", "stacks", "actions")).toBe(""));
  });

  test("updates the bot's comment, and not a user's comment with the same marker", () => {
    const markedBody = "<!-- talos-gpu plan -->\nold";
    setGitHubAnswers({
      [commentsPath]: [
        [{ id: 1, body: markedBody, user: { type: "User" } }],
        [{ id: 2, body: markedBody, user: { type: "Bot" } }],
      ],
    });
    expect(runComment()).toMatchObject({ status: 0, log: "comment brought up to date\n" });
    expect(takeGitHubCalls().at(-1)!.args).toEqual(
      expect.arrayContaining(["PATCH", "repos/owner/gpus/issues/comments/2"]),
    );
  });

  test("with the repository's root as folder, changed stacks in a subfolder get no comment", () => {
    setGitHubAnswers({ [commentsPath]: [[]] });
    expect(runComment({ "inputs.folder": "." })).toMatchObject({
      status: 0,
      log: "nothing to say\n",
    });
    takeGitHubCalls();
  });

  describe("the program that computes a plan", () => {
    let originalCommand: string;
    beforeAll(() => void (originalCommand = fs.readFileSync(command, "utf8")));
    afterEach(() => fs.writeFileSync(command, originalCommand));

    test("ends at the time limit, even if it ignores SIGTERM", () => {
      writeProgram(path.dirname(command), "cli.js", `process.on("SIGTERM", () => {}); for (;;);`);
      setGitHubAnswers({ [commentsPath]: [[]] });
      expect(runComment({ "inputs.limit": "1" })).toMatchObject({ status: 0 });
      expect(bodyOf(takeGitHubCalls().at(-1))).toContain(
        "It cannot be planned: it took more than 1 seconds.",
      );
    });

    test("has no token in its environment", () => {
      writeProgram(path.dirname(command), "cli.js", `console.log(JSON.stringify(process.env));`);
      setGitHubAnswers({ [commentsPath]: [[]] });
      expect(runComment()).toMatchObject({ status: 0 });
      const body = bodyOf(takeGitHubCalls().at(-1));
      expect(body).toContain('"HOME"');
      expect(body).not.toMatch(/token-of-the-job|GH_TOKEN|GITHUB_/);
    });
  });
});
