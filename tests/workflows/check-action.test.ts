import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { createCheckout, readAction, repository, runStep, findActionStep } from "./runner";

// The step of the action `check` that checks the files.

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-check-action-"));
const work = path.join(temp, "work");
const step = findActionStep(readAction("check"), "check.sh");

/** Runs the step with these inputs, and the defaults of the others. */
function runCheck(inputs: Record<string, string>) {
  const expressions = Object.fromEntries(
    Object.entries(readAction("check").inputs).map(([name, { default: defaultValue = "" }]) => [
      `inputs.${name}`,
      inputs[name] ?? defaultValue,
    ]),
  );
  const environment = { GITHUB_ACTION_PATH: path.join(work, "actions/check") };
  return runStep(step, {
    cwd: work,
    tools: path.join(temp, "tools"),
    temp,
    expressions,
    environment,
  });
}

beforeAll(() => {
  createCheckout(work);
  const validFiles = path.join(repository, "tests/fixtures/talhelper/home-ops");
  fs.cpSync(validFiles, path.join(work, "talos"), { recursive: true });
  // The handler of this RuntimeClass is misspelt.
  fs.mkdirSync(path.join(work, "a folder"));
  fs.writeFileSync(
    path.join(work, "a folder/runtime class.yaml"),
    "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: { name: nvidia }\nhandler: nvida\n",
  );
});
afterAll(() => fs.rmSync(temp, { recursive: true }));

test("the action check annotates findings, writes the same findings as SARIF, and exits with the command's status", () => {
  const { status, log } = runCheck({ paths: "talos\na folder\n", sarif: "found.sarif" });
  expect(log).toMatch(/^::error file=a folder\/runtime class\.yaml,line=\d+,title=/m);
  expect(status).toBe(1);
  const { version, runs } = JSON.parse(fs.readFileSync(path.join(work, "found.sarif"), "utf8")) as {
    version: string;
    runs: { results: unknown[] }[];
  };
  expect(version).toBe("2.1.0");
  expect(runs[0]!.results).toHaveLength(log.match(/^::error/gm)!.length);
});

test("the action check passes valid files, and hands its arguments to the command", () => {
  const { status, log } = runCheck({ paths: "talos", arguments: "--talos\nv1.13.6\n" });
  expect(log).toContain("Nothing is wrong in");
  expect(status).toBe(0);
  expect(runCheck({ paths: "talos", arguments: "--talos\nv9.9.9" })).toMatchObject({
    status: 2,
    log: expect.stringContaining("the package has no data about v9.9.9") as unknown,
  });
});

test("the action check reads a path that looks like an option as a path", () => {
  expect(runCheck({ paths: "--format=text" })).toMatchObject({
    log: expect.stringContaining("--format=text: cannot be read") as unknown,
  });
});

test("the action check refuses an empty list of paths", () => {
  expect(runCheck({ paths: "\n" })).toMatchObject({
    status: 2,
    log: expect.stringContaining("paths: is empty") as unknown,
  });
});

test("the action check writes no SARIF file if the command could not check (status 2)", () => {
  expect(
    runCheck({ paths: "talos", arguments: "--talos\nv9.9.9", sarif: "none.sarif" }).status,
  ).toBe(2);
  expect(fs.existsSync(path.join(work, "none.sarif"))).toBe(false);
});
