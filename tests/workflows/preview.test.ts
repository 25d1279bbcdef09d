import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { read, runStep, stepOf } from "./runner";
import { workflowStand } from "./stand";

const { work, git, stack, expressions, where } = workflowStand(["velaryon"]);

describe("preview.yml", () => {
  const workflow = read("preview.yml");
  const given = { ...expressions, "matrix.stack": "velaryon" };
  let main: string;

  /** Runs a step on a pull request that changes a stack. The working tree is that of main. */
  const onPullRequest = (
    text: string,
    edit: (config: Record<string, unknown>, file: Record<string, unknown>) => void,
  ) => {
    git("checkout", "-qb", "edit");
    const file = parse(fs.readFileSync(stack("velaryon"), "utf8")) as {
      config: Record<string, unknown>;
    };
    edit(file.config, file);
    fs.writeFileSync(stack("velaryon"), stringify(file));
    fs.writeFileSync(path.join(work, "package.json"), `{ "scripts": { "prepare": "false" } }`);
    git("commit", "-qam", "edit");
    const head = git("rev-parse", "HEAD").trim();
    git("checkout", "-q", "main");
    git("branch", "-qD", "edit");
    const job = text === "stacks.js" ? "stacks" : "preview";
    return runStep(stepOf(workflow, job, text), {
      ...where,
      expressions: { ...given, "github.event.pull_request.head.sha": head },
    });
  };
  beforeAll(() => void (main = fs.readFileSync(stack("velaryon"), "utf8")));
  afterEach(() => git("checkout", "-q", "--", "stacks"));

  test("previews only the stacks that the pull request changes", () => {
    const { status, output } = onPullRequest(
      "stacks.js",
      (config) => (config["talos-gpu:clusterName"] = "other"),
    );
    expect([status, output]).toEqual([0, 'stacks=[{"stack":"velaryon"}]\n']);
  });

  test("takes only the stack's talos-gpu fields from the pull request", () => {
    const machines = { a: { labels: { "1_000": "1_000", yes: "on" } } };
    const { status } = onPullRequest("take-stack.js", (config) => {
      config["talos-gpu:clusterName"] = "other";
      config["talos-gpu:machines"] = machines;
    });
    expect(status).toBe(0);
    const taken = parse(fs.readFileSync(stack("velaryon"), "utf8")) as {
      config: Record<string, unknown>;
    };
    const before = parse(main) as typeof taken;
    expect(taken).toEqual({
      ...before,
      config: {
        ...before.config,
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
    const { status, said } = onPullRequest("take-stack.js", edit);
    expect([status, said]).toEqual([1, expect.stringMatching(reason)]);
    expect(fs.readFileSync(stack("velaryon"), "utf8")).toBe(main);
  });

  test("refuses a stack file that is a symbolic link", () => {
    git("checkout", "-qb", "edit");
    fs.rmSync(stack("velaryon"));
    fs.symlinkSync("/etc/passwd", stack("velaryon"));
    git("commit", "-qam", "edit");
    const head = git("rev-parse", "HEAD").trim();
    git("checkout", "-q", "main");
    git("branch", "-qD", "edit");
    const { status, said } = runStep(stepOf(workflow, "preview", "take-stack.js"), {
      ...where,
      expressions: { ...given, "github.event.pull_request.head.sha": head },
    });
    expect([status, said]).toEqual([1, expect.stringContaining("is not a plain file")]);
  });
});
