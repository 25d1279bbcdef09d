import * as fs from "node:fs";
import * as path from "node:path";
import { readWorkflow, runStep, findStep } from "./runner";
import { setupWorkflowRepository } from "./workflow-repository";

const { work, git, replaceInStack, setGitHubAnswers, stepOptions } = setupWorkflowRepository([
  "velaryon",
  "rtx3090",
  "frank",
]);

describe("up.yml", () => {
  const workflow = readWorkflow("up.yml");
  let firstCommit: string;
  beforeAll(() => void (firstCommit = git("rev-parse", "HEAD").trim()));
  const deploymentsPath = (environment: string): string =>
    `repos/owner/gpus/deployments?environment=${environment}&per_page=20`;

  test("asks for approval if changes since the last successful update may reboot a machine", () => {
    replaceInStack("velaryon", "slot: X", "slot: Y");
    replaceInStack("rtx3090", "v1.10.9", "v1.10.8");
    git("commit", "-qam", "edit");
    const recentDeployments = [
      { id: 2, sha: "f".repeat(40), created_at: "2026-02-02" },
      { id: 1, sha: firstCommit, created_at: "2026-01-01" },
    ];
    setGitHubAnswers({
      [deploymentsPath("velaryon")]: recentDeployments,
      [deploymentsPath("rtx3090-reboots")]: recentDeployments,
      "repos/owner/gpus/deployments/1/statuses": [{ state: "inactive" }, { state: "success" }],
      "repos/owner/gpus/deployments/2/statuses": [{ state: "failure" }],
    });
    const { status, output, log } = runStep(findStep(workflow, "stacks", "stacks.js"), stepOptions);
    expect(log).toBe("");
    expect(status).toBe(0);
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
    (_case, reboots, environment, created_at) => {
      // The commit of the failed update is no longer in the branch, so no plan shows what it did to a machine.
      const failedDeployment = { id: 2, sha: "f".repeat(40), created_at };
      const successfulDeployment = {
        id: 1,
        sha: git("rev-parse", "HEAD").trim(),
        created_at: "2026-01-01",
      };
      const otherEnvironment = environment === "velaryon" ? "velaryon-reboots" : "velaryon";
      setGitHubAnswers({
        [deploymentsPath(environment)]: [failedDeployment],
        [deploymentsPath(otherEnvironment)]: [successfulDeployment],
        "repos/owner/gpus/deployments/1/statuses": [{ state: "success" }],
        "repos/owner/gpus/deployments/2/statuses": [{ state: "failure" }, { state: "in_progress" }],
      });
      const { status, output } = runStep(findStep(workflow, "stacks", "stacks.js"), stepOptions);
      expect(status).toBe(0);
      const stacks = JSON.parse(output.replace("stacks=", "")) as {
        stack: string;
        reboots: boolean;
      }[];
      expect(stacks.find(({ stack: name }) => name === "velaryon")).toMatchObject({ reboots });
    },
  );

  /** The warnings of the step that checks the environments, with these answers of GitHub by path. */
  const warningsFor = (gitHubAnswers: Record<string, unknown>): string[] => {
    setGitHubAnswers(
      Object.fromEntries(
        Object.entries(gitHubAnswers).map(([apiPath, answer]) => [
          `repos/owner/gpus/${apiPath}`,
          answer,
        ]),
      ),
    );
    const { status, log } = runStep(findStep(workflow, "stacks", "environments.js"), stepOptions);
    expect(status).toBe(0);
    return log.split("\n").filter(Boolean);
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
  ])("warns of an environment that accepts %s", (_, gitHubAnswers, warning) =>
    expect(warningsFor(gitHubAnswers)).toEqual([expect.stringContaining(warning)]),
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
  ])("does not warn %s", (_, gitHubAnswers) => expect(warningsFor(gitHubAnswers)).toEqual([]));

  test("asks for approval if the code that computes plans has changed", () => {
    fs.mkdirSync(path.join(work, "components"), { recursive: true });
    fs.writeFileSync(path.join(work, "components", "recipe.ts"), "");
    git("add", "components");
    git("commit", "-qm", "code");
    const { output } = runStep(findStep(workflow, "stacks", "stacks.js"), stepOptions);
    expect(output).toContain(
      '{"stack":"velaryon","reboots":true,"environment":"velaryon-reboots"}',
    );
  });
});
