import * as fs from "node:fs";
import * as path from "node:path";
import { read, runStep, stepOf } from "./runner";
import { workflowStand } from "./stand";

const { work, git, change, answers, where } = workflowStand(["velaryon", "rtx3090", "frank"]);

describe("the steps of up.yml", () => {
  const workflow = read("up.yml");
  let first: string;
  beforeAll(() => void (first = git("rev-parse", "HEAD").trim()));
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
      { stack: "frank", reboots: true, environment: "frank-reboots" }, // no update of it is known
      { stack: "rtx3090", reboots: true, environment: "rtx3090-reboots" },
      { stack: "velaryon", reboots: false, environment: "velaryon" },
    ]);
  });

  test.each([
    ["an approved update that failed after", "velaryon-reboots", "2026-02-02", true],
    ["an approved update that failed before", "velaryon-reboots", "2025-12-31", false],
    ["an update without approval that failed after", "velaryon", "2026-02-02", false],
  ])(
    "ask for approval, or not, by %s the last success",
    (_what, environment, created_at, reboots) => {
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
      const stacks = JSON.parse(output.replace("stacks=", "")) as {
        stack: string;
        reboots: boolean;
      }[];
      expect(stacks.find(({ stack: name }) => name === "velaryon")).toMatchObject({ reboots });
    },
  );

  test.each<[string, Record<string, unknown>, string[]]>([
    ["no environment exists", {}, []],
    [
      "one takes every branch",
      { "environments/velaryon": { deployment_branch_policy: null } },
      ["::warning title=environment velaryon::It accepts every branch, so"],
    ],
    [
      "one takes every protected branch",
      {
        "environments/velaryon-reboots": {
          deployment_branch_policy: { protected_branches: true, custom_branch_policies: false },
        },
      },
      ["::warning title=environment velaryon-reboots::It accepts every protected branch, so"],
    ],
    [
      "one takes a pattern as well as main",
      {
        "environments/velaryon-preview": {
          deployment_branch_policy: { protected_branches: false, custom_branch_policies: true },
        },
        "environments/velaryon-preview/deployment-branch-policies": {
          branch_policies: [{ name: "main", type: "branch" }, { name: "feat/*" }],
        },
      },
      ['::warning title=environment velaryon-preview::It accepts "feat/*", so'],
    ],
    [
      "one takes main alone",
      {
        "environments/velaryon": {
          deployment_branch_policy: { protected_branches: false, custom_branch_policies: true },
        },
        "environments/velaryon/deployment-branch-policies": { branch_policies: [{ name: "main" }] },
      },
      [],
    ],
  ])("warn of environments that other branches reach: %s", (_, there, warned) => {
    answers(
      Object.fromEntries(
        Object.entries(there).map(([place, answer]) => [`repos/owner/gpus/${place}`, answer]),
      ),
    );
    const { status, said } = runStep(stepOf(workflow, "stacks", "environments.js"), where);
    expect(status).toBe(0);
    expect(said.split("\n").filter(Boolean)).toEqual(
      warned.map((start) => expect.stringContaining(start) as string),
    );
  });

  test("ask for approval where the code has changed by which a plan is computed", () => {
    fs.mkdirSync(path.join(work, "components"), { recursive: true });
    fs.writeFileSync(path.join(work, "components", "recipe.ts"), "");
    git("add", "components");
    git("commit", "-qm", "code");
    const { output } = runStep(stepOf(workflow, "stacks", "stacks.js"), where);
    expect(output).toContain(
      '{"stack":"velaryon","reboots":true,"environment":"velaryon-reboots"}',
    );
  });
});
