import { type Bar, timelineMermaid, withWaits } from "../../cli/timeline";

const bar = (section: string, from: number, to: number, part: Bar["part"] = "other"): Bar => ({
  section,
  label: part,
  part,
  from,
  to,
});

test("who begins later waits for what ended last before it; who begins at once waits for nobody", () => {
  const bars = [
    bar("b", 90, 100),
    bar("a", 0, 30, "drain"),
    bar("a", 30, 90, "reboot"),
    bar("c", 100, 110),
    bar("d", 0, 200),
  ];
  const waits = withWaits(bars).filter(({ part }) => part === "waits");
  expect(waits).toEqual([
    { section: "b", label: "waits for a", part: "waits", from: 0, to: 90 },
    { section: "c", label: "waits for b", part: "waits", from: 0, to: 100 },
  ]);
});

test("a gantt names its sections, and no name ends before its end", () => {
  const lines = timelineMermaid({
    times: "a run",
    bars: [{ ...bar("gpu-1; x", 0, 0.2), label: "10:30, then # more" }],
  });
  expect(lines).toContain("  section gpu-1 x");
  // A task that lasts no second would not be drawn.
  expect(lines.at(-1)).toBe("  10 30 then more :1970-01-01 00:00:00, 1970-01-01 00:00:01");
});
