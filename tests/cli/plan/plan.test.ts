import * as fs from "node:fs";
import * as path from "node:path";
import { stringify } from "yaml";
import { compare, type Comparison } from "../../../cli/plan/comparison";
import {
  configurationDifference,
  fieldChanges,
  lineDifference,
  redacted,
  type FieldChange,
} from "../../../cli/plan/differences";
import { pageOf } from "../../../cli/plan/page";
import { plan as verb, tooLong } from "../../../cli/plan/verb";
import { findingsOf, judge, parseSpec, planCluster } from "../../../components/recipe";
import { readStackFile, configurationOf } from "../../../stacks/stack-file";
import { editedStack, edits, type StackConfig } from "../../support/edits";
import { gitIn } from "../../support/git";
import { stacks } from "../../support/stacks";
import { runVerb, makeTemporaryFolder } from "../support";

const golden = path.join(__dirname, "..", "..", "fixtures", "plan-pages");

/** `UPDATE_GOLDEN=1 npx jest tests/cli/plan` writes the pages. */
function expectGolden(name: string, text: string): void {
  const file = path.join(golden, `${name}.md`);
  if (process.env.UPDATE_GOLDEN) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  expect(text).toBe(fs.readFileSync(file, "utf8"));
}

/** A stack with its plan and findings, as `compare` takes it. */
const plannedStack = (fields: StackConfig) => ({
  plan: planCluster(parseSpec(fields).spec!),
  findings: findingsOf(fields),
  remarks: judge(fields).remarks,
});
/** The comparison of a committed stack with its fields after an edit. */
const compareWith = (stack: string, editedFields: StackConfig): Comparison =>
  compare(stack, "main", plannedStack(readStackFile(stack)), plannedStack(editedFields));

test("the page of one stack equals the committed file", () => {
  expectGolden(
    "modern",
    pageOf(compare("modern", undefined, undefined, plannedStack(readStackFile("modern")))),
  );
});

test.each(stacks)("the stack %s, compared with itself, has no changes", (stack) => {
  const comparison = compareWith(stack, readStackFile(stack));
  expect(comparison).toMatchObject({ stackChanges: [], valueChanges: [], away: [] });
  expect(pageOf(comparison)).toContain("Nothing changes compared with `main`.");
});

/** Edits whose whole page is compared: one of each kind of page. */
const editsWithPages = [
  "containerd-part-on-omni",
  "driver-branch",
  "operator-to-plugin",
  "talos-minor",
];

test.each(edits.filter(({ name }) => editsWithPages.includes(name)))(
  "the page of the edit $name equals the committed file",
  ({ name, stack, change }) => {
    expectGolden(`edits/${name}`, pageOf(compareWith(stack, editedStack({ stack, change }))));
  },
);

describe.each(edits)("the plan of the edit $name of $stack", ({ name, stack, change, reboots }) => {
  const comparison = compareWith(stack, editedStack({ stack, change }));

  test("has the stack and the changed fields in its page", () => {
    const page = pageOf(comparison);
    expect(page).toContain(`## Plan of ${stack}`);
    for (const { field } of comparison.stackChanges) expect(page).toContain(`- \`${field}\``);
  });

  test("has only the fields of the edit, and the expected effect on each machine", () => {
    // A change between operator and plugin changes two fields.
    expect(comparison.stackChanges).toHaveLength(
      /-to-(plugin|operator|claims)$/.test(name) ? 2 : 1,
    );
    expect(
      Object.fromEntries(comparison.machines.map((machine) => [machine.name, machine.reboots])),
    ).toEqual(reboots);
  });
});

test("the graph of a large fleet shows the number of machines instead of their names", () => {
  const machines = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `gpu-${index}`,
      {
        address: `10.0.0.${index + 1}`,
        role: "worker",
        configuration: "adopted",
        gpus: [{ model: "H100 NVL" }],
      },
    ]),
  );
  const fleet = {
    talosVersion: "v1.12.6",
    machines,
    devicePlugin: { version: "0.17.4" },
    upgrade: { maxParallel: 15 },
  };
  const page = pageOf(compare("fleet", undefined, undefined, plannedStack(fleet)));
  expect(page.match(/15 machines<br\/>may reboot/g)).toHaveLength(2);
  expect(page).not.toMatch(/gpu-\d+<br\/>/);
});

describe("with upgrade.first", () => {
  const gpus = [{ model: "H100 NVL" }];
  const machines = Object.fromEntries(
    ["a", "b", "c", "d"].map((name, index) => [
      name,
      { address: `10.0.0.${index + 1}`, role: "worker", configuration: "adopted", gpus },
    ]),
  );
  const fleet = {
    talosVersion: "v1.12.6",
    machines,
    devicePlugin: { version: "0.17.4" },
    upgrade: { first: ["c"], maxParallel: "50%" },
  };

  test("the page has the GPU provider's step after the first machines and before the others", () => {
    const comparison = compare("fleet", undefined, undefined, plannedStack(fleet));
    // Only the first group, the worker of upgrade.first, is upgraded before the provider's step.
    expect(comparison).toMatchObject({
      machineGroups: [["c"], ["a", "b"], ["d"]],
      groupsBeforeProvider: 1,
    });
    expectGolden("first", pageOf(comparison));
  });

  test("GPUs are unavailable on each machine after the first ones until it is upgraded", () => {
    const upgraded = { ...fleet, talosVersion: "v1.13.0" };
    const { away: unavailable } = compare(
      "fleet",
      "main",
      plannedStack(fleet),
      plannedStack(upgraded),
    );
    expect(unavailable.at(-1)).toContain(
      "of upgrade.first; on each other machine until it is upgraded",
    );
  });
});

test("a line difference keeps unchanged lines", () => {
  expect(lineDifference(["a", "b", "c"], ["a", "x", "c", "d"])).toEqual([
    "  a",
    "- b",
    "+ x",
    "  c",
    "+ d",
  ]);
});

test("secrets are hidden in stack fields and in the configuration", () => {
  expect(
    redacted({ machine: { token: "abc.def" }, list: [{ env: "hf_abcdefghijklmnopqrstuvwx" }] }),
  ).toEqual({
    machine: { token: "(hidden)" },
    list: [{ env: "(hidden)" }],
  });
  const parts = new Map<string, unknown>([
    ["machine.token", "abc.def"],
    ["WireguardConfig/wg0", { privateKey: "c2VjcmV0" }],
  ]);
  const lines = configurationDifference(new Map(), parts).join("\n");
  expect(lines).toContain("(hidden)");
  expect(lines).not.toMatch(/abc\.def|c2VjcmV0/);
});

const secret = "machine: { registries: { config: { r.io: { auth: { password: hunter2 } } } } }";
test.each<[string, StackConfig, StackConfig, FieldChange]>([
  [
    "changed",
    { patches: ["a: 1"] },
    { patches: [secret] },
    { field: "patches[0]", before: "(a patch)", after: "(a patch)" },
  ],
  ["added", {}, { patches: [secret] }, { field: "patches", after: '["(a patch)"]' }],
  [
    "of a new machine",
    { machines: {} },
    { machines: { a: { role: "worker", patches: [secret, "b: 2"] } } },
    { field: "machines.a", after: '{"role":"worker","patches":["(a patch)","(a patch)"]}' },
  ],
])("a patch is not quoted, because it may contain a secret: %s", (_, before, after, expected) => {
  expect(fieldChanges(before, after)).toEqual([expected]);
});

describe("the verb plan", () => {
  const folder = makeTemporaryFolder();
  const file = path.join(folder, "Pulumi.velaryon.yaml");
  const git = gitIn(folder);
  const write = (fields: StackConfig): void =>
    fs.writeFileSync(
      file,
      stringify({
        config: Object.fromEntries(
          Object.entries(fields).map(([key, value]) => [`talos-gpu:${key}`, value]),
        ),
      }),
    );
  const run = (...argv: string[]) => runVerb("plan", verb, ["--stack", file, ...argv]);

  beforeAll(() => {
    git("init", "-q");
    write(readStackFile("velaryon"));
    git("add", ".");
    git("commit", "-qm", "stack");
    write(editedStack(edits.find(({ name }) => name === "label")!));
  });
  afterAll(() => fs.rmSync(folder, { recursive: true }));

  test("compares the file with its version in git", async () => {
    const { status, stdout } = await run("--base", "HEAD", "--json");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      stack: "velaryon",
      base: "HEAD",
      stackChanges: [{ field: "machines.velaryon.labels.slot", before: '"X"', after: '"Y"' }],
      machines: [{ name: "velaryon", reboots: "no", configuration: [] }],
    });
  });

  test("reports a missing commit", async () => {
    await expect(run("--base", "nowhere")).rejects.toThrow(/--base: git has no commit nowhere/);
    await expect(run("--base=--help")).rejects.toThrow(/--base: git has no commit/);
  });

  test("treats a stack that the base does not have as new", async () => {
    git("checkout", "-q", "--orphan", "empty");
    git("rm", "-q", "-f", "--cached", "Pulumi.velaryon.yaml");
    git("commit", "-q", "--allow-empty", "-m", "nothing");
    const { status, stderr, stdout } = await run("--base", "empty");
    expect(status).toBe(0);
    expect(stderr).toBe("empty has no stack velaryon, so there is nothing to compare with");
    expect(stdout).toContain("No earlier stack is compared");
  });

  test("treats a stack as new if the base has invalid YAML", async () => {
    git("checkout", "-q", "--orphan", "broken");
    fs.writeFileSync(file, "config: [");
    git("add", ".");
    git("commit", "-qm", "broken");
    write(readStackFile("velaryon"));
    const { status, stderr } = await run("--base", "broken");
    expect(status).toBe(0);
    expect(stderr).toBe("broken has no valid stack velaryon, so there is nothing to compare with");
  });

  test("exits with status 1 if the stack is refused", async () => {
    write({ ...readStackFile("velaryon"), talosVersion: "v1.11" });
    expect(await run()).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("`talosVersion`"),
    });
    write({ ...readStackFile("velaryon"), machines: 5 });
    expect(await run()).toMatchObject({ status: 1, stdout: expect.stringContaining("`machines`") });
  });

  test("reports a configuration over 128 KiB", async () => {
    write({
      ...readStackFile("velaryon"),
      patches: [`# ${"long ".repeat(30_000)}\nmachine: {}\n`],
    });
    const { stdout } = await run("--json");
    const { findings } = JSON.parse(stdout) as { findings: { problem: string }[] };
    expect(findings).toMatchObject([{ problem: "the stack's configuration has 148 KiB" }]);
  });
});

test("a thousand machines exceed the size limit as `machines` with YAML anchors, but not as a pool", () => {
  const settings = {
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "RTX 2070 SUPER" }],
  };
  const addressOf = (index: number): string =>
    `10.1.${Math.floor(index / 250)}.${(index % 250) + 1}`;
  const machines = Array.from({ length: 1000 }, (_, index) => [
    `gpu-${index}`,
    { address: addressOf(index), ...settings },
  ]);
  const text = stringify({ config: { machines: Object.fromEntries(machines) } }); // `gpus: *a1`
  expect(tooLong(configurationOf(text, "a file"))).toMatchObject([{ field: "machines" }]);
  const addresses = [0, 250, 500, 750].map(
    (first) => `${addressOf(first)}-${addressOf(first + 249)}`,
  );
  expect(tooLong({ pools: { all: { names: "gpu-####", addresses, ...settings } } })).toEqual([]);
});
