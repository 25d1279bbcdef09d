import { describeProgress, type Standing } from "../../../components/recipe/effect/progress";

test("each machine once, by what became of it, and which are cordoned", () => {
  const machines = new Map<string, Standing>([
    ["a", { progress: "done" }],
    ["b", { progress: "failed", cordoned: true }],
    ["c", { progress: "under way" }],
    ["d", { progress: "not started" }],
    ["e", { progress: "skipped" }],
    ["f", { progress: "done" }],
  ]);
  expect(describeProgress(machines).split("\n")).toEqual([
    "Of the machines are now",
    "  failed (1): b",
    "  under way (1): c",
    "  not started (1): d",
    "  done (2): a, f",
    "  skipped (1): e",
    "  cordoned, until an update ends well or `kubectl uncordon` (1): b",
  ]);
});

test("of a fleet, the number and the first names", () => {
  const fleet = Array.from({ length: 300 }, (_, index): [string, Standing] => [`g${index}`, { progress: "done" }]);
  const said = describeProgress(new Map(fleet));
  expect(said).toContain("done (300): g0, g1, ");
  expect(said).toMatch(/g19 and 280 more$/);
});
