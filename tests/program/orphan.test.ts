import {
  type Ancestor,
  isOrphaned,
  type Look,
  lookByPs,
  lookInProc,
  upToPulumi,
} from "../../components/program/orphan";

/** Processes, each the parent of the next. */
const processChain = (...names: string[]): Look => {
  const processes = names.map((name, index): Ancestor => ({
    pid: 100 + index,
    name,
    parent: 101 + index,
    started: "5",
  }));
  return (pid) => processes.find((process) => process.pid === pid);
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
])("the program watches %s", (_, namesOfAncestors, expectedNames) =>
  expect(names(upToPulumi(100, processChain(...namesOfAncestors)))).toEqual(expectedNames),
);

test("the program is an orphan if an ancestor has ended or its process ID has been reused", () => {
  const findProcess = processChain("sh", "pulumi-resource", "pulumi");
  const ancestors = upToPulumi(100, findProcess);
  expect(isOrphaned(ancestors, findProcess)).toBe(false);
  expect(isOrphaned(ancestors, (pid) => (pid === 102 ? undefined : findProcess(pid)))).toBe(true);
  expect(
    isOrphaned(ancestors, (pid) =>
      pid === 102 ? { ...findProcess(pid)!, started: "9" } : findProcess(pid),
    ),
  ).toBe(true);
  expect(isOrphaned([], findProcess)).toBe(false);
});

const unusedPid = 2 ** 22 + 1; // larger than any process id of Linux

test.each([
  ["this process", process.pid],
  ["its parent", process.ppid],
  ["a process that does not exist", unusedPid],
])("ps and /proc report the same parent for %s", (_, pid) => {
  const { started, ...byPs } = lookByPs(pid) ?? {};
  const { started: _started, ...inProc } = lookInProc(pid) ?? {};
  expect(byPs).toEqual(inProc);
  expect(started).toEqual(
    pid === unusedPid ? undefined : expect.stringMatching(/^\w+ \w+ .*\d{4}$/),
  );
  expect(lookByPs(pid)?.started).toBe(started);
});
