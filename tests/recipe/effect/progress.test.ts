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

test("of a fleet, the number of machines and the first names are listed", () => {
  const fleet = Array.from({ length: 300 }, (_, index): [string, Standing] => [
    `g${index}`,
    { progress: "done" },
  ]);
  const said = describeProgress(new Map(fleet));
  expect(said).toContain("done (300): g0, g1, ");
  expect(said).toMatch(/g19 and 280 more$/);
});

describe("a machine", () => {
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
    [
      "is not started before its first resource begins",
      () => {},
      { a: "not started", b: "not started" },
      false,
    ],
    [
      "is under way between two of its resources",
      (p) => configured(p, "a"),
      { a: "under way", b: "not started" },
      false,
    ],
    [
      "is skipped if none of its resources had to change",
      (p) => p.settles("a"),
      { a: "skipped", b: "not started" },
      false,
    ],
    [
      "is done after all of its resources",
      (p) => (configured(p, "a"), p.settles("a")),
      { a: "done", b: "not started" },
      false,
    ],
    [
      "is failed after a failure, which ends the update",
      (p) => (p.begins("a", "upgrade"), p.fails("a")),
      { a: "failed", b: "not started" },
      true,
    ],
    [
      "is under way while its upgrade runs after another machine's failure",
      (p) => (p.begins("b", "upgrade"), p.fails("a")),
      { a: "failed", b: "under way" },
      false,
    ],
    [
      "is done if its upgrade ends after another machine's failure",
      (p) => (p.begins("b", "upgrade"), p.fails("a"), p.ends("b", "upgrade", true)),
      { a: "failed", b: "done" },
      true,
    ],
    [
      "is configured if another machine fails before its upgrade",
      (p) => (p.begins("b", "configuration"), p.fails("a"), p.ends("b", "configuration", false)),
      { a: "failed", b: "configured" },
      true,
    ],
    [
      "is done if another machine fails after its upgrade",
      (p) => (
        p.ends("b", "upgrade", true),
        p.begins("b", "node"),
        p.fails("a"),
        p.ends("b", "node", false)
      ),
      { a: "failed", b: "done" },
      true,
    ],
    [
      "is not started if a resource of the cluster fails",
      (p) => p.fails(),
      { a: "not started", b: "not started" },
      true,
    ],
  ];
  test.each(cases)("%s", (_, events, standings, over) =>
    expect(told(events)).toEqual([standings, over]),
  );
});
