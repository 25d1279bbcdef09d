import * as fs from "node:fs";
import * as path from "node:path";
import { read, runStep, stepOf } from "./runner";
import { workflowStand } from "./stand";

const { work, git, change, answers, where } = workflowStand(["velaryon", "rtx3090", "frank"]);

describe("up.yml", () => {
  const workflow = read("up.yml");
  let first: string;
  beforeAll(() => void (first = git("rev-parse", "HEAD").trim()));
  const deployments = (environment: string): string =>
    `repos/owner/gpus/deployments?environment=${environment}&per_page=20`;

  test("asks for approval if changes since the last successful update may reboot a machine", () => {
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
      { stack: "frank", reboots: true, environment: "frank-reboots" }, // there is no known update of it
      { stack: "rtx3090", reboots: true, environment: "rtx3090-reboots" },
      { stack: "velaryon", reboots: false, environment: "velaryon" },
    ]);
  });

  test.each([
    ["an approved update that failed after", true, "velaryon-reboots", "2026-02-02"],
    ["an approved update that failed before", false, "velaryon-reboots", "2025-12-31"],
    ["an update without approval that failed after", false, "velaryon", "2026-02-02"],
  ])(
    "%s the last success makes approval necessary: %s",
    (_what, reboots, environment, created_at) => {
      // The commit of the failed update is no longer in the branch, so no plan shows what it did to a machine.
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

  const warnings = (present: Record<string, unknown>): string[] => {
    answers(
      Object.fromEntries(
        Object.entries(present).map(([place, answer]) => [`repos/owner/gpus/${place}`, answer]),
      ),
    );
    const { status, said } = runStep(stepOf(workflow, "stacks", "environments.js"), where);
    expect(status).toBe(0);
    return said.split("\n").filter(Boolean);
  };

  test.each<[string, Record<string, unknown>, string]>([
    [
      "every branch",
      { "environments/velaryon": { deployment_branch_policy: null } },
      "::warning title=environment velaryon::It accepts every branch, so",
    ],
    [
      "every protected branch",
      {
        "environments/velaryon-reboots": {
          deployment_branch_policy: { protected_branches: true, custom_branch_policies: false },
        },
      },
      "::warning title=environment velaryon-reboots::It accepts every protected branch, so",
    ],
    [
      "main and a pattern of branches",
      {
        "environments/velaryon-preview": {
          deployment_branch_policy: { protected_branches: false, custom_branch_policies: true },
        },
        "environments/velaryon-preview/deployment-branch-policies": {
          branch_policies: [{ name: "main", type: "branch" }, { name: "feat/*" }],
        },
      },
      '::warning title=environment velaryon-preview::It accepts "feat/*", so',
    ],
  ])("warns of an environment that accepts %s", (_, present, warned) =>
    expect(warnings(present)).toEqual([expect.stringContaining(warned)]),
  );

  test.each<[string, Record<string, unknown>]>([
    ["if no environment exists", {}],
    [
      "of an environment that accepts only main",
      {
        "environments/velaryon": {
          deployment_branch_policy: { protected_branches: false, custom_branch_policies: true },
        },
        "environments/velaryon/deployment-branch-policies": { branch_policies: [{ name: "main" }] },
      },
    ],
  ])("does not warn %s", (_, present) => expect(warnings(present)).toEqual([]));

  test("asks for approval if the code that computes plans has changed", () => {
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
