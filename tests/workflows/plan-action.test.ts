import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { readAction, runStep, standIn, stepOfAction } from "./runner";
import { workflowStand } from "./stand";

const { temp, work, git, stack, change, calls, answers, expressions, where } = workflowStand([
  "velaryon",
  "rtx3090",
]);
const origin = path.join(temp, "origin");

describe("the steps of the action plan, on a fork's pull request", () => {
  const action = readAction("plan");
  const comments = "repos/owner/gpus/issues/7/comments?per_page=100";
  const secret = path.join(temp, "credentials.yaml");
  const given = {
    ...expressions,
    "inputs.number": "7",
    "inputs.folder": "stacks",
    "inputs.limit": "60",
    "inputs.token": "token-of-the-job",
  };
  const environment = { GITHUB_ACTION_PATH: path.join(work, "actions/plan") };
  const command = path.join(work, "components/bin/cli.js");

  /** Writes a stack whose release is external, in these files. */
  const outside = (name: string, files: string[]): void => {
    const { config } = parse(fs.readFileSync(stack("rtx3090"), "utf8")) as {
      config: Record<string, unknown>;
    };
    for (const key of ["gpuOperator", "devicePlugin", "workloads", "sharing"])
      delete config[`talos-gpu:${key}`];
    config["talos-gpu:external"] = { kind: "gpuOperator", version: "v25.10.1", files };
    fs.writeFileSync(stack(name), stringify({ config }));
  };

  beforeAll(() => {
    fs.writeFileSync(secret, "auths: { ghcr.io: { d: s3cr3t-of-the-runner } }\n");
    // The fork changes a file that a stack of main lists.
    fs.mkdirSync(path.join(work, "flux"));
    fs.writeFileSync(path.join(work, "flux/main.yaml"), "driver: { enabled: false }\n");
    outside("named", ["../flux/main.yaml"]);
    outside("untouched", ["../flux/other.yaml"]);
    git("add", "flux", "stacks");
    git("commit", "-qm", "external");
    // On the fork's branch one stack is edited, one is not a file, and some list files. Its code would leave a mark
    // if it ran.
    git("checkout", "-qb", "fork");
    change("velaryon", "slot: X", 'slot: "<!-- @everyone"');
    outside("absolute", [secret]);
    outside("device", ["/dev/zero"]);
    outside("own", ["../flux/values.yaml"]);
    outside("upwards", ["../../credentials.yaml"]);
    outside("linked", ["../flux/link.yaml"]);
    fs.writeFileSync(
      path.join(work, "flux/main.yaml"),
      "driver: { enabled: false, changedByTheFork: 1 }\n",
    );
    fs.writeFileSync(
      path.join(work, "flux/values.yaml"),
      "driver: { enabled: false, ofThePullRequest: 1 }\n",
    );
    fs.symlinkSync(secret, path.join(work, "flux/link.yaml"));
    fs.rmSync(stack("rtx3090"));
    fs.symlinkSync("/etc/passwd", stack("rtx3090"));
    const mark = `touch ${temp}/foreign-code`;
    fs.writeFileSync(
      path.join(work, "package.json"),
      JSON.stringify({ scripts: { plan: mark, prepare: mark } }),
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
    const fetched = runStep(stepOfAction(action, "fetch-pull-request.sh"), {
      ...where,
      expressions: given,
      environment,
    });
    expect(fetched).toMatchObject({ status: 0 });
  });

  const comment = (more: Record<string, string> = {}) =>
    runStep(stepOfAction(action, "comment.js"), {
      ...where,
      expressions: { ...given, ...more },
      environment,
    });
  const bodyOf = (call: { input: string } | undefined): string =>
    (JSON.parse(call!.input) as { body: string }).body;
  const sectionOf = (body: string, name: string): string =>
    body.split("\n## ").find((section) => section.startsWith(`Plan of ${name}\n`))!;

  describe("comments on each changed stack", () => {
    let body: string;
    beforeAll(() => {
      answers({ [comments]: [[]] });
      expect(comment()).toMatchObject({ status: 0, said: "commented\n" });
      const post = calls().at(-1)!;
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
    const marked = "<!-- talos-gpu plan -->\nold";
    answers({
      [comments]: [
        [{ id: 1, body: marked, user: { type: "User" } }],
        [{ id: 2, body: marked, user: { type: "Bot" } }],
      ],
    });
    expect(comment()).toMatchObject({ status: 0, said: "comment brought up to date\n" });
    expect(calls().at(-1)!.args).toEqual(
      expect.arrayContaining(["PATCH", "repos/owner/gpus/issues/comments/2"]),
    );
  });

  test("with the repository's root as folder, changed stacks in a subfolder get no comment", () => {
    answers({ [comments]: [[]] });
    expect(comment({ "inputs.folder": "." })).toMatchObject({
      status: 0,
      said: "nothing to say\n",
    });
    calls();
  });

  describe("the program that computes a plan", () => {
    let real: string;
    beforeAll(() => void (real = fs.readFileSync(command, "utf8")));
    afterEach(() => fs.writeFileSync(command, real));

    test("ends at the time limit, even if it ignores SIGTERM", () => {
      standIn(path.dirname(command), "cli.js", `process.on("SIGTERM", () => {}); for (;;);`);
      answers({ [comments]: [[]] });
      expect(comment({ "inputs.limit": "1" })).toMatchObject({ status: 0 });
      expect(bodyOf(calls().at(-1))).toContain(
        "It cannot be planned: it took more than 1 seconds.",
      );
    });

    test("has no token in its environment", () => {
      standIn(path.dirname(command), "cli.js", `console.log(JSON.stringify(process.env));`);
      answers({ [comments]: [[]] });
      expect(comment()).toMatchObject({ status: 0 });
      const body = bodyOf(calls().at(-1));
      expect(body).toContain('"HOME"');
      expect(body).not.toMatch(/token-of-the-job|GH_TOKEN|GITHUB_/);
    });
  });
});
