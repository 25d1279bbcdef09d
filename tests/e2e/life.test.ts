import Table from "cli-table3";
import type { EditsRun, EditResult } from "./runs/life";
import { type StackEdit, editedStacks } from "./runs/life-table";
import { runInOwnProcess, type ProgramResult } from "./support/own-process";

// Edits of installed stacks: the preview's changes happen, nothing is left to do afterwards, and each edit can be
// undone.

const stackNames = Object.keys(editedStacks);
const results: Record<string, ProgramResult<EditsRun>> = {};

beforeAll(async () => {
  await Promise.all(
    stackNames.map(async (name) => (results[name] = await runInOwnProcess<EditsRun>("life", name))),
  );
});

/** Every edit and its undoing, in order. */
const expectedSteps = (edits: StackEdit[]): string[] =>
  edits.flatMap(({ name, furtherEdits = [], undoError, refused }) =>
    refused !== undefined
      ? [name, `${name}, without a preview`, `${name}, after the refusal`]
      : [
          name,
          ...expectedSteps(furtherEdits),
          `${name}, undone`,
          ...(undoError === undefined ? [] : [`${name}, after the refusal`]),
        ],
  );

const handSteps = [
  "deleted by hand, --refresh",
  "deleted by hand, reconcileToken",
  "--replace of everything",
];

/** A readable table of a run. */
function tableOf(steps: EditResult[]): string {
  const table = new Table({
    head: ["edit", "the preview", "reboots", "seconds"],
    style: { head: [] },
  });
  for (const { edit, announcement, reboots, seconds } of steps) {
    const rebooted = Object.entries(reboots).filter(([, count]) => count > 0);
    table.push([
      edit,
      announcement || "–",
      rebooted.map(([name, count]) => `${name} ${count}`).join("\n") || "–",
      Math.round(seconds),
    ]);
  }
  return table.toString();
}

describe.each(stackNames)("%s", (name) => {
  test("each edit and its reverse reboot machines as the preview said, and leave an empty preview", () => {
    const { outcome: run, stderr } = results[name]!;
    process.stderr.write(`${name}\n${tableOf(run.results)}\n`);
    const messages = run.results.flatMap(({ edit, deviations }) =>
      deviations.map((deviation) => `${edit}: ${deviation}`),
    );
    if (messages.length > 0) throw new Error([...messages, stderr.slice(-8_000)].join("\n"));
    const { edits, withHandDeletions, machines = {} } = editedStacks[name]!;
    expect(run.machines).toMatchObject(machines);
    const allSteps = ["at first", ...expectedSteps(edits), ...(withHandDeletions ? handSteps : [])];
    expect(run.results.map(({ edit }) => edit)).toEqual(allSteps);
  });

  test("the destroy leaves nothing", () => expect(results[name]!.outcome.leftovers).toEqual([]));
});
