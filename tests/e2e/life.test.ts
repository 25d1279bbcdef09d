import Table from "cli-table3";
import type { LifeRun, LifeStep } from "./runs/life";
import { type LifeEdit, lives } from "./runs/life-table";
import { runApart, type Told } from "./support/apart";

// Edits of installed stacks: the preview's changes happen, nothing is left to do afterwards, and each edit can be
// undone.

const labs = Object.keys(lives);
const ran: Record<string, Told<LifeRun>> = {};

beforeAll(async () => {
  await Promise.all(labs.map(async (name) => (ran[name] = await runApart<LifeRun>("life", name))));
});

/** Every edit and its undoing, in order. */
const stepsOf = (edits: LifeEdit[]): string[] =>
  edits.flatMap(({ name, then = [], stays, refused }) =>
    refused !== undefined
      ? [name, `${name}, without a preview`, `${name}, after the refusal`]
      : [
          name,
          ...stepsOf(then),
          `${name}, taken back`,
          ...(stays === undefined ? [] : [`${name}, after the refusal`]),
        ],
  );

const handSteps = [
  "deleted by hand, --refresh",
  "deleted by hand, reconcileToken",
  "--replace of everything",
];

/** A readable table of a run. */
function tableOf(steps: LifeStep[]): string {
  const table = new Table({
    head: ["edit", "the preview", "reboots", "seconds"],
    style: { head: [] },
  });
  for (const { edit, word, reboots, seconds } of steps) {
    const came = Object.entries(reboots).filter(([, count]) => count > 0);
    table.push([
      edit,
      word || "–",
      came.map(([name, count]) => `${name} ${count}`).join("\n") || "–",
      Math.round(seconds),
    ]);
  }
  return table.toString();
}

describe.each(labs)("%s", (name) => {
  test("each edit and its reverse reboot machines as the preview said, and leave an empty preview", () => {
    const { outcome: run, said } = ran[name]!;
    process.stderr.write(`${name}\n${tableOf(run.steps)}\n`);
    const wrong = run.steps.flatMap(({ edit, wrong }) => wrong.map((line) => `${edit}: ${line}`));
    if (wrong.length > 0) throw new Error([...wrong, said.slice(-8_000)].join("\n"));
    const { edits, byHand, machines = {} } = lives[name]!;
    expect(run.machines).toMatchObject(machines);
    const all = ["at first", ...stepsOf(edits), ...(byHand ? handSteps : [])];
    expect(run.steps.map(({ edit }) => edit)).toEqual(all);
  });

  test("the destroy leaves nothing", () => expect(ran[name]!.outcome.left).toEqual([]));
});
