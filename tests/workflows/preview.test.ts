import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { readWorkflow, runStep, findStep } from "./runner";
import { setupWorkflowRepository } from "./workflow-repository";

const { work, git, stackFile, expressions, stepOptions } = setupWorkflowRepository(["velaryon"]);

describe("preview.yml", () => {
  const workflow = readWorkflow("preview.yml");
  const stackExpressions = { ...expressions, "matrix.stack": "velaryon" };
  let mainStack: string;

  /** Runs a step on a pull request that changes a stack. The working tree is that of main. */
  const runOnPullRequest = (
    command: string,
    edit: (config: Record<string, unknown>, file: Record<string, unknown>) => void,
  ) => {
    git("checkout", "-qb", "edit");
    const file = parse(fs.readFileSync(stackFile("velaryon"), "utf8")) as {
      config: Record<string, unknown>;
    };
    edit(file.config, file);
    fs.writeFileSync(stackFile("velaryon"), stringify(file));
    fs.writeFileSync(path.join(work, "package.json"), `{ "scripts": { "prepare": "false" } }`);
    git("commit", "-qam", "edit");
    const head = git("rev-parse", "HEAD").trim();
    git("checkout", "-q", "main");
    git("branch", "-qD", "edit");
    const job = command === "stacks.js" ? "stacks" : "preview";
    return runStep(findStep(workflow, job, command), {
      ...stepOptions,
      expressions: { ...stackExpressions, "github.event.pull_request.head.sha": head },
    });
  };
  beforeAll(() => void (mainStack = fs.readFileSync(stackFile("velaryon"), "utf8")));
  afterEach(() => git("checkout", "-q", "--", "stacks"));

  test("previews only the stacks that the pull request changes", () => {
    const { status, output } = runOnPullRequest(
      "stacks.js",
      (config) => (config["talos-gpu:clusterName"] = "other"),
    );
    expect(status).toBe(0);
    expect(output).toBe('stacks=[{"stack":"velaryon"}]\n');
  });

  test("takes only the stack's talos-gpu fields from the pull request", () => {
    const machines = { a: { labels: { "1_000": "1_000", yes: "on" } } };
    const { status } = runOnPullRequest("take-stack.js", (config) => {
      config["talos-gpu:clusterName"] = "other";
      config["talos-gpu:machines"] = machines;
    });
    expect(status).toBe(0);
    const stackFromPullRequest = parse(fs.readFileSync(stackFile("velaryon"), "utf8")) as {
      config: Record<string, unknown>;
    };
    const stackOfMain = parse(mainStack) as typeof stackFromPullRequest;
    expect(stackFromPullRequest).toEqual({
      ...stackOfMain,
      config: {
        ...stackOfMain.config,
        "talos-gpu:clusterName": "other",
        "talos-gpu:machines": machines,
      },
    });
    expect(git("status", "--porcelain", "-uno").trim()).toBe("M stacks/Pulumi.velaryon.yaml");
  });

  test.each<
    [string, (config: Record<string, unknown>, file: Record<string, unknown>) => void, RegExp]
  >([
    [
      "an environment of Pulumi ESC",
      (_, file) => (file["environment"] = ["prod/secrets"]),
      /environment: differs from main/,
    ],
    [
      "another provider of secrets",
      (_, file) => (file["secretsprovider"] = "awskms://x"),
      /secretsprovider: differs from main/,
    ],
    [
      "a provider's configuration",
      (config) => (config["kubernetes:kubeconfig"] = "x"),
      /kubernetes:kubeconfig: differs from main/,
    ],
    [
      "an address for credentials",
      (config) => (config["talos-gpu:omniEndpoint"] = "https://a.example"),
      /omniEndpoint/,
    ],
    [
      "credentials by their short name",
      (config) => (config["kubeconfig"] = "x"),
      /config\.kubeconfig: differs from main/,
    ],
    [
      "an encrypted value in a field that is shown",
      (config) => (config["talos-gpu:machines"] = { a: { labels: { l: { secure: "v1:x" } } } }),
      /talos-gpu:machines: has an encrypted value/,
    ],
  ])("refuses a stack file that adds %s", (_, edit, reason) => {
    const { status, log } = runOnPullRequest("take-stack.js", edit);
    expect(log).toMatch(reason);
    expect(status).toBe(1);
    expect(fs.readFileSync(stackFile("velaryon"), "utf8")).toBe(mainStack);
  });

  test("refuses a stack file that is a symbolic link", () => {
    git("checkout", "-qb", "edit");
    fs.rmSync(stackFile("velaryon"));
    fs.symlinkSync("/etc/passwd", stackFile("velaryon"));
    git("commit", "-qam", "edit");
    const head = git("rev-parse", "HEAD").trim();
    git("checkout", "-q", "main");
    git("branch", "-qD", "edit");
    const { status, log } = runStep(findStep(workflow, "preview", "take-stack.js"), {
      ...stepOptions,
      expressions: { ...stackExpressions, "github.event.pull_request.head.sha": head },
    });
    expect(log).toContain("is not a plain file");
    expect(status).toBe(1);
  });
});
