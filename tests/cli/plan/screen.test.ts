import * as fs from "node:fs";
import * as path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { compare, type Comparison } from "../../../cli/plan/comparison";
import { pageOf } from "../../../cli/plan/page";
import { screenOf } from "../../../cli/plan/screen";
import { plan } from "../../../cli/plan/verb";
import { widthOf } from "../../../cli/terminal/wrap";
import { findingsOf, judge, parseSpec, planCluster } from "../../../components/recipe";
import { readStackFile } from "../../../stacks/stack-file";
import { editedStack, edits, type StackConfig } from "../../support/edits";
import { runVerb, makeTemporaryFolder } from "../support";

const plannedStack = (fields: StackConfig) => ({
  plan: planCluster(parseSpec(fields).spec!),
  findings: findingsOf(fields),
  remarks: judge(fields).remarks,
});
const modern = compare("modern", undefined, undefined, plannedStack(readStackFile("modern")));

/** The comparison of each edit. */
const comparisonsOfEdits = edits.map(({ name, stack, change }) => {
  const base = plannedStack(readStackFile(stack));
  const head = plannedStack(editedStack({ stack, change }));
  return { name, comparison: compare(stack, "main", base, head) };
});

const screenText = (comparison: Comparison, columns = 80): string =>
  screenOf(comparison, { columns, colour: false });

test.each([132, 80, 60, 40, 24])("every plan fits %i columns", (columns) => {
  for (const { name, comparison } of [
    { name: "modern", comparison: modern },
    ...comparisonsOfEdits,
  ])
    for (const line of screenText(comparison, columns).split("\n"))
      expect({ name, line, fits: widthOf(line) <= columns }).toEqual({ name, line, fits: true });
});

test("a terminal gets tables without Markdown, HTML or Mermaid", () => {
  const text = screenText(modern);
  expect(text).toContain("│ machine │ reboots │");
  expect(text).toMatch(/1\. control \(may reboot\)\n {2}2\. gpu \(may reboot\)\n {2}3\. /);
  expect(text).not.toMatch(/<details>|```|mermaid|\*\*|^#/m);
});

test("colours do not change the text, and no colour codes are printed without colours", () => {
  const coloured = screenOf(modern, { columns: 80, colour: true });
  expect(coloured).toContain("\u001b[33monly if\u001b[39m");
  expect(stripVTControlCharacters(coloured)).toBe(screenText(modern));
  expect(stripVTControlCharacters(screenText(modern))).toBe(screenText(modern));
});

test("page and terminal list the extensions, and say that their order does not matter", () => {
  const sentence = "The order of the extensions does not matter";
  const names = modern.machines.flatMap(({ after }) => after!.extensions);
  expect(names).not.toEqual([]);
  for (const text of [pageOf(modern), screenText(modern, 200)]) {
    expect(text).toContain(sentence);
    for (const name of names) expect(text).toContain(name);
  }
});

test("a comparison with a base shows the changed lines of the configuration in colours", () => {
  const { comparison } = comparisonsOfEdits.find(({ name }) => name === "talos-minor")!;
  const text = screenOf(comparison, { columns: 100, colour: true });
  expect(text).toContain("\u001b[32m  + ");
  expect(text).toContain("\u001b[31m  - ");
  expect(text).toContain("\u001b[33mv1.11.1 → v1.12.6\u001b[39m");
});

test("a hostile name cannot control the terminal", () => {
  const machine = { ...modern.machines[0]!, name: "a\u001b]0;owned\u0007\nb" };
  const text = screenOf({ ...modern, machines: [machine] }, { columns: 80, colour: false });
  expect(text).toMatch(/a.*owned/);
  // eslint-disable-next-line no-control-regex -- the test searches for them
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

describe("the verb plan", () => {
  const folder = makeTemporaryFolder();
  afterAll(() => fs.rmSync(folder, { recursive: true }));
  const screen = { columns: 72, colour: false };
  const stack = path.join(__dirname, "../../../stacks/Pulumi.modern.yaml");

  test("prints tables in a terminal, but Markdown into a pipe or with --markdown", async () => {
    const [inTerminal, inPipe, withMarkdown] = await Promise.all([
      runVerb("plan", plan, ["--stack", stack], {}, screen),
      runVerb("plan", plan, ["--stack", stack]),
      runVerb("plan", plan, ["--stack", stack, "--markdown"], {}, screen),
    ]);
    expect(inTerminal.stdout).toMatch(/^Plan of modern\n/);
    expect(inPipe.stdout).toMatch(/^## Plan of modern\n/);
    expect(withMarkdown.stdout).toBe(inPipe.stdout);
  });

  test("prints why a stack is refused, within the terminal's width", async () => {
    const file = path.join(folder, "Pulumi.broken.yaml");
    fs.writeFileSync(file, "config:\n  talos-gpu:talosVersion: v1.12.6\n  talos-gpu:machnes: {}\n");
    const printedPlan = await runVerb("plan", plan, ["--stack", file], {}, screen);
    expect(printedPlan.status).toBe(1);
    expect(printedPlan.stdout).toMatch(/^The stack is refused:\n {2}• machnes: /);
    for (const line of printedPlan.stdout.split("\n"))
      expect(widthOf(line)).toBeLessThanOrEqual(72);
  });
});
