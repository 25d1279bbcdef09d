import { resultOf, type Round } from "../../bench/compare";
import { comparisons, type Comparison } from "../../bench/comparisons";
import { doubledRatios } from "../../bench/expected";
import expected from "../../bench/expected.json";
import { commandTimeOf } from "../../bench/lab";
import { renderReport } from "../../bench/report";

const comparison: Comparison = {
  id: "one",
  title: "one thing",
  baseline: "another thing",
  subjectCommand: ["registration", "component", "1"],
  baselineCommand: ["registration", "plain", "1"],
  memory: true,
  long: false,
};

const round = (subjectSeconds: number, baselineSeconds: number, memoryRatio = 1): Round => ({
  subject: { seconds: subjectSeconds, mebibytes: 100 * memoryRatio },
  baseline: { seconds: baselineSeconds, mebibytes: 100 },
});

describe("results of several rounds", () => {
  // The computer was three times as slow in the second round.
  const rounds = [round(2, 1), round(6, 3), round(3, 1)];

  test("a ratio compares both sides within one round, so a slow round does not change it", () => {
    const { cpu } = resultOf(comparison, rounds);
    expect(cpu.subject).toEqual({ minimum: 2, median: 3, maximum: 6 });
    expect(cpu.baseline).toEqual({ minimum: 1, median: 1, maximum: 3 });
    expect(cpu.ratio).toEqual({ minimum: 2, median: 2, maximum: 3 });
  });

  test("memory is compared only if the comparison has memory: true", () => {
    expect(resultOf(comparison, [round(1, 1, 1.5)]).memory?.ratio.median).toBe(1.5);
    expect(resultOf({ ...comparison, memory: false }, [round(1, 1)]).memory).toBeUndefined();
  });
});

describe("limits of a ratio", () => {
  const failuresOf = (cpuRatio: number, memoryRatio: number) =>
    doubledRatios([resultOf(comparison, [round(cpuRatio, 1, memoryRatio)])], {
      one: { cpu: 1.5, memory: 1.2 },
    });

  test("a ratio below twice the expected one passes", () =>
    expect(failuresOf(2.9, 2.3)).toEqual([]));

  test("a ratio of CPU or memory that is twice the expected one fails", () => {
    expect(failuresOf(3, 1)).toEqual([
      expect.stringMatching(/^one\.cpu: the ratio is 3\.00, and 1\.5 was expected/),
    ]);
    expect(failuresOf(1, 2.4)).toEqual([
      expect.stringMatching(/^one\.memory: the ratio is 2\.40, and 1\.2 was expected/),
    ]);
  });

  test("one disturbed round passes, because the median counts", () => {
    const rounds = [round(1.5, 1), round(9, 1), round(1.6, 1)];
    expect(doubledRatios([resultOf(comparison, rounds)], { one: { cpu: 1.5, memory: 1 } })).toEqual(
      [],
    );
  });

  test("a ratio without an expected value fails", () =>
    expect(doubledRatios([resultOf(comparison, [round(1.75, 1)])], {})).toEqual([
      expect.stringContaining(
        "one.cpu: no ratio is expected; a doubling would not be noticed; add 1.75 to",
      ),
      expect.stringContaining("one.memory: no ratio is expected"),
    ]));

  test("the expected ratios are exactly those of the comparisons", () => {
    const comparedFigures = comparisons.map(({ id, memory }) => ({
      id,
      figures: memory ? ["cpu", "memory"] : ["cpu"],
    }));
    const expectedFigures = Object.entries(expected).map(([id, ratios]) => ({
      id,
      figures: Object.keys(ratios),
    }));
    expect(expectedFigures).toEqual(comparedFigures);
  });
});

test("the report's table has minimum, median and maximum of both sides, of their ratio and of a lab", () => {
  const page = renderReport({
    comparisons: [resultOf(comparison, [round(2, 1, 2), round(4, 1, 2)])],
    labs: [
      {
        title: "a warm lab",
        cpu: { minimum: 30, median: 31, maximum: 32 },
        wall: { minimum: 20, median: 21, maximum: 22 },
      },
    ],
    failures: [],
  });
  const rows = page.split("\n").map((line) =>
    line
      .split("│")
      .map((cell) => cell.trim())
      .filter(Boolean),
  );
  expect(rows).toContainEqual(["one thing, CPU", "2.00 s", "3.00 s", "4.00 s"]);
  expect(rows).toContainEqual(["another thing", "1.00 s", "1.00 s", "1.00 s"]);
  expect(rows).toContainEqual(["ratio", "2.00", "3.00", "4.00"]);
  expect(rows).toContainEqual(["one thing, memory", "200 MiB", "200 MiB", "200 MiB"]);
  expect(rows).toContainEqual(["a warm lab, by the clock", "20 s", "21 s", "22 s"]);
});

test("a command's times are read from the last line, which Bash prints", () =>
  expect(commandTimeOf("some progress\nmore of it\n23.105 41.500 3.250\n")).toEqual({
    wall: 23.105,
    cpu: 44.75,
  }));

test("a last line without times is an error", () =>
  expect(() => commandTimeOf("npm: command not found\n")).toThrow("says no times"));
