import {
  describeProgress,
  type MachineResult,
  UpdateProgress,
} from "../../../components/recipe/effect/progress";

test("each machine is listed once by its result, and cordoned machines once more", () => {
  const machines = new Map<string, MachineResult>([
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

test("of 300 machines, the number and the first names are listed", () => {
  const machines = Array.from({ length: 300 }, (_, index): [string, MachineResult] => [
    `g${index}`,
    { progress: "done" },
  ]);
  const description = describeProgress(new Map(machines));
  expect(description).toContain("done (300): g0, g1, ");
  expect(description).toMatch(/g19 and 280 more$/);
});

describe("a machine", () => {
  const configure = (progress: UpdateProgress, machine: string): void => {
    progress.begins(machine, "configuration");
    progress.ends(machine, "configuration", false);
  };

  /** Events of an update of the machines a and b, and what is known after them. */
  interface ProgressCase {
    title: string;
    report: (progress: UpdateProgress) => void;
    a: string;
    b: string;
    isOver: boolean;
  }

  const cases: ProgressCase[] = [
    {
      title: "is not started before its first resource begins",
      report: () => {},
      a: "not started",
      b: "not started",
      isOver: false,
    },
    {
      title: "is under way between two of its resources",
      report: (progress) => configure(progress, "a"),
      a: "under way",
      b: "not started",
      isOver: false,
    },
    {
      title: "is skipped if none of its resources had to change",
      report: (progress) => progress.settles("a"),
      a: "skipped",
      b: "not started",
      isOver: false,
    },
    {
      title: "is done after all of its resources",
      report: (progress) => {
        configure(progress, "a");
        progress.settles("a");
      },
      a: "done",
      b: "not started",
      isOver: false,
    },
    {
      title: "is failed after a failure, which ends the update",
      report: (progress) => {
        progress.begins("a", "upgrade");
        progress.fails("a");
      },
      a: "failed",
      b: "not started",
      isOver: true,
    },
    {
      title: "is under way while its upgrade runs after another machine's failure",
      report: (progress) => {
        progress.begins("b", "upgrade");
        progress.fails("a");
      },
      a: "failed",
      b: "under way",
      isOver: false,
    },
    {
      title: "is done if its upgrade ends after another machine's failure",
      report: (progress) => {
        progress.begins("b", "upgrade");
        progress.fails("a");
        progress.ends("b", "upgrade", true);
      },
      a: "failed",
      b: "done",
      isOver: true,
    },
    {
      title: "is configured if another machine fails before its upgrade",
      report: (progress) => {
        progress.begins("b", "configuration");
        progress.fails("a");
        progress.ends("b", "configuration", false);
      },
      a: "failed",
      b: "configured",
      isOver: true,
    },
    {
      title: "is done if another machine fails after its upgrade",
      report: (progress) => {
        progress.ends("b", "upgrade", true);
        progress.begins("b", "node");
        progress.fails("a");
        progress.ends("b", "node", false);
      },
      a: "failed",
      b: "done",
      isOver: true,
    },
    {
      title: "is not started if a resource of the cluster fails",
      report: (progress) => progress.fails(),
      a: "not started",
      b: "not started",
      isOver: true,
    },
  ];

  test.each(cases)("$title", ({ report, a, b, isOver }) => {
    const progress = new UpdateProgress(["a", "b"]);
    report(progress);
    const states = [...progress.machineResults()].map(([name, standing]) => [
      name,
      standing.progress,
    ]);
    expect(Object.fromEntries(states)).toEqual({ a, b });
    expect(progress.isOver()).toBe(isOver);
  });
});
