import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { checkout, readAction, repository, runStep, stepOfAction } from "./runner";

// The step of the action `check` that checks the files.

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-check-action-"));
const work = path.join(temp, "work");
const step = stepOfAction(readAction("check"), "check.sh");

/** Runs the step with these inputs, and the defaults of the others. */
function check(inputs: Record<string, string>) {
  const all = Object.entries(readAction("check").inputs).map(([name, { default: value = "" }]) => [
    name,
    value,
  ]);
  const given = { ...(Object.fromEntries(all) as Record<string, string>), ...inputs };
  const expressions = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [`inputs.${name}`, value]),
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
  checkout(work);
  const sound = path.join(repository, "tests/fixtures/talhelper/home-ops");
  fs.cpSync(sound, path.join(work, "talos"), { recursive: true });
  // From Talos 1.13 on, containerd has no such plugin, so settings below it have no effect.
  fs.mkdirSync(path.join(work, "a folder"));
  fs.writeFileSync(
    path.join(work, "a folder/runtime class.yaml"),
    "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: { name: nvidia }\nhandler: nvida\n",
  );
});
afterAll(() => fs.rmSync(temp, { recursive: true }));

test("the action check annotates findings, writes the same findings as SARIF, and exits with the command's status", () => {
  const { status, said } = check({ paths: "talos\na folder\n", sarif: "found.sarif" });
  expect(said).toMatch(/^::error file=a folder\/runtime class\.yaml,line=\d+,title=/m);
  expect(status).toBe(1);
  const { version, runs } = JSON.parse(fs.readFileSync(path.join(work, "found.sarif"), "utf8")) as {
    version: string;
    runs: { results: unknown[] }[];
  };
  expect(version).toBe("2.1.0");
  expect(runs[0]!.results).toHaveLength(said.match(/^::error/gm)!.length);
});

test("the action check passes sound files, and hands its arguments to the command", () => {
  const { status, said } = check({ paths: "talos", arguments: "--talos\nv1.13.6\n" });
  expect([status, said]).toEqual([0, expect.stringContaining("Nothing is wrong in")]);
  expect(check({ paths: "talos", arguments: "--talos\nv9.9.9" })).toMatchObject({
    status: 2,
    said: expect.stringContaining("the package has no data about v9.9.9") as unknown,
  });
});

test("the action check reads a path that looks like an option as a path", () => {
  expect(check({ paths: "--format=text" })).toMatchObject({
    said: expect.stringContaining("--format=text: cannot be read") as unknown,
  });
});

test("the action check refuses an empty list of paths", () => {
  expect(check({ paths: "\n" })).toMatchObject({
    status: 2,
    said: expect.stringContaining("paths: is empty") as unknown,
  });
});

test("the action check writes no SARIF file if the command could not check (status 2)", () => {
  expect(check({ paths: "talos", arguments: "--talos\nv9.9.9", sarif: "none.sarif" }).status).toBe(
    2,
  );
  expect(fs.existsSync(path.join(work, "none.sarif"))).toBe(false);
});
