import {
  type Ancestor,
  isOrphaned,
  type Look,
  lookByPs,
  lookInProc,
  upToPulumi,
} from "../../components/program/orphan";

/** Processes, each the parent of the next. */
const chain = (...names: string[]): Look => {
  const all = names.map((name, index): Ancestor => ({
    pid: 100 + index,
    name,
    parent: 101 + index,
    started: "5",
  }));
  return (pid) => all.find((one) => one.pid === pid);
};
const names = (ancestors: Ancestor[]): string[] => ancestors.map(({ name }) => name);

test.each<[string, string[], string[]]>([
  [
    "all of its ancestors up to Pulumi",
    ["sh", "pulumi-resource", "pulumi", "bash", "sshd"],
    ["sh", "pulumi-resource", "pulumi"],
  ],
  [
    "the ancestors up to Pulumi also without a shell in between",
    ["pulumi-resource", "pulumi", "bash"],
    ["pulumi-resource", "pulumi"],
  ],
  [
    "the ancestors up to the nearest Pulumi if a wrapper started Pulumi",
    ["sh", "pulumi-resource", "pulumi", "pulumi"],
    ["sh", "pulumi-resource", "pulumi"],
  ],
  ["no ancestor if another program started it", ["bash", "make", "sshd"], []],
  [
    "no ancestor if Pulumi is too many processes away",
    ["a", "b", "c", "d", "e", "f", "pulumi"],
    [],
  ],
])("the program watches %s", (_, above, watched) =>
  expect(names(upToPulumi(100, chain(...above)))).toEqual(watched),
);

test("the program is an orphan if an ancestor has ended or its process ID has been reused", () => {
  const look = chain("sh", "pulumi-resource", "pulumi");
  const all = upToPulumi(100, look);
  expect(isOrphaned(all, look)).toBe(false);
  expect(isOrphaned(all, (pid) => (pid === 102 ? undefined : look(pid)))).toBe(true);
  expect(
    isOrphaned(all, (pid) => (pid === 102 ? { ...look(pid)!, started: "9" } : look(pid))),
  ).toBe(true);
  expect(isOrphaned([], look)).toBe(false);
});

const unknown = 2 ** 22 + 1; // larger than any process id of Linux

test.each([
  ["this process", process.pid],
  ["its parent", process.ppid],
  ["a process that does not exist", unknown],
])("ps and /proc report the same parent for %s", (_, pid) => {
  const { started, ...byPs } = lookByPs(pid) ?? {};
  const { started: _started, ...inProc } = lookInProc(pid) ?? {};
  expect(byPs).toEqual(inProc);
  expect(started).toEqual(pid === unknown ? undefined : expect.stringMatching(/^\w+ \w+ .*\d{4}$/));
  expect(lookByPs(pid)?.started).toBe(started);
});
