import {
  describeProgress,
  type Standing,
  UpdateProgress,
} from "../../../components/recipe/effect/progress";

test("each machine is listed once by its result, and cordoned machines once more", () => {
  const machines = new Map<string, Standing>([
    ["a", { progress: "done" }],
    ["b", { progress: "failed", cordoned: true }],
    ["c", { progress: "under way" }],
    ["d", { progress: "not started" }],
    ["e", { progress: "skipped" }],
    ["f", { progress: "done" }],
  ]);
  expect(describeProgress(machines).split("\n")).toEqual([
    "State of the machines",
    "  failed (1): b",
    "  under way (1): c",
    "  not started (1): d",
    "  done (2): a, f",
    "  skipped (1): e",
    "  cordoned (1): b; until the machine's upgrade succeeds, or until you run the uncordon command that the failure above shows",
  ]);
});

test("a fleet is shown by its number and its first names", () => {
  const fleet = Array.from({ length: 300 }, (_, index): [string, Standing] => [
    `g${index}`,
    { progress: "done" },
  ]);
  const said = describeProgress(new Map(fleet));
  expect(said).toContain("done (300): g0, g1, ");
  expect(said).toMatch(/g19 and 280 more$/);
});

describe("how far each machine is, from what begins and ends", () => {
  const told = (events: (progress: UpdateProgress) => void): [Record<string, string>, boolean] => {
    const progress = new UpdateProgress(["a", "b"]);
    events(progress);
    const standings = [...progress.standings()].map(([name, standing]) => [
      name,
      standing.progress,
    ]);
    return [Object.fromEntries(standings) as Record<string, string>, progress.over()];
  };
  const configured = (progress: UpdateProgress, machine: string): void => {
    progress.begins(machine, "configuration");
    progress.ends(machine, "configuration", false);
  };
  const cases: [string, (progress: UpdateProgress) => void, Record<string, string>, boolean][] = [
    ["nothing yet", () => {}, { a: "not started", b: "not started" }, false],
    [
      "between two of its resources",
      (p) => configured(p, "a"),
      { a: "under way", b: "not started" },
      false,
    ],
    ["nothing had to be", (p) => p.settles("a"), { a: "skipped", b: "not started" }, false],
    [
      "all of it through",
      (p) => (configured(p, "a"), p.settles("a")),
      { a: "done", b: "not started" },
      false,
    ],
    [
      "one failed",
      (p) => (p.begins("a", "upgrade"), p.fails("a")),
      { a: "failed", b: "not started" },
      true,
    ],
    [
      "one failed, the other is being upgraded",
      (p) => (p.begins("b", "upgrade"), p.fails("a")),
      { a: "failed", b: "under way" },
      false,
    ],
    [
      "and was, before the failure or after it",
      (p) => (p.begins("b", "upgrade"), p.fails("a"), p.ends("b", "upgrade", true)),
      { a: "failed", b: "done" },
      true,
    ],
    [
      "one failed, while the other got its configuration: its upgrade never begins",
      (p) => (p.begins("b", "configuration"), p.fails("a"), p.ends("b", "configuration", false)),
      { a: "failed", b: "configured" },
      true,
    ],
    [
      "one failed, while the node of another, upgraded, got its labels",
      (p) => (
        p.ends("b", "upgrade", true),
        p.begins("b", "node"),
        p.fails("a"),
        p.ends("b", "node", false)
      ),
      { a: "failed", b: "done" },
      true,
    ],
    ["what is no machine's failed", (p) => p.fails(), { a: "not started", b: "not started" }, true],
  ];
  test.each(cases)("%s", (_, events, standings, over) =>
    expect(told(events)).toEqual([standings, over]),
  );
});
