import type { CanaryRun, CanaryUpdate } from "../runs/canary";
import { ahead, failing, workers } from "../runs/canary-upgrade";
import { runApart } from "../support/apart";

// 12 workers, 25 % at a time; worker-05 is in `upgrade.first`, and worker-03 fails.

let ran: CanaryRun;

beforeAll(async () => {
  ({ outcome: ran } = await runApart<CanaryRun>("canary"));
});

const ended = ({ result, diagnostics }: CanaryUpdate): void =>
  expect([result, result === "succeeded" ? "" : diagnostics.join("\n")]).toEqual(["succeeded", ""]);

test("of 12 workers, the one in upgrade.first is upgraded alone, and the others at most three at a time", () => {
  ended(ran.first);
  const { spans, reboots } = ran.first;
  expect(spans).toHaveLength(workers);
  expect(spans[0]!.machine).toBe(ahead);
  for (const { begin } of spans.slice(1)) expect(begin).toBeGreaterThan(spans[0]!.end);
  for (const { begin } of spans)
    expect(
      spans.filter((other) => other.begin <= begin && begin < other.end).length,
    ).toBeLessThanOrEqual(3);
  expect(Object.values(reboots)).toEqual(Array(workers).fill(1));
});

test("after one machine failed, no further upgrade begins, and the update reports each machine's state", () => {
  const { result, lines, spans, reboots, cordoned } = ran.failing;
  expect(result).toBe("failed");
  // Printed at the failure, and again when the upgrades that had already begun are finished.
  const told = lines.flatMap((line, index) =>
    line.includes("State of the machines") ? [index] : [],
  );
  const summary = lines.slice(told.at(-1), told.at(-1)! + 8).join("\n");
  const of = (word: string): string[] =>
    (new RegExp(`(?:^|: ) *${word} \\(\\d+\\): ([^;\n]*)`, "m").exec(summary)?.[1] ?? "")
      .split(", ")
      .filter((name) => name !== "");
  expect(of("failed")).toEqual([failing]);
  expect(of("done")).toContain(ahead);
  // Whether a machine was only configured or already being upgraded at the failure depends on the computer's load.
  const untouched = [...of("configured, not upgraded"), ...of("not started")];
  expect([...of("failed"), ...of("done"), ...untouched].sort()).toEqual(
    Object.keys(reboots).sort(),
  );
  // The printed states agree with the machines' own records.
  expect(of("not started").length).toBeGreaterThanOrEqual(6);
  for (const name of untouched) expect([name, reboots[name]]).toEqual([name, 1]);
  for (const name of of("done")) expect(spans.map(({ machine }) => machine)).toContain(name);
  expect(cordoned).toEqual([failing]);
  expect(of("cordoned")).toEqual([failing]);
});

test("the next update upgrades the remaining machines, and a further one changes nothing", () => {
  ended(ran.mended);
  expect(ran.mended.spans.map(({ machine }) => machine)).toContain(failing);
  expect(ran.mended.cordoned).toEqual([]);
  ended(ran.again);
  expect(ran.again).toMatchObject({ spans: [], reboots: ran.mended.reboots });
});

test("the destroy leaves nothing", () => expect(ran.left).toEqual([]));
