import type { CanaryRun } from "../runs/canary";
import { firstMachine, failingMachine, workerCount } from "../runs/canary-upgrade";
import { expectLinesInOrder, expectSucceeded } from "../support/labs";
import { runInOwnProcess } from "../support/own-process";

// 12 workers, 25 % at a time; worker-05 is in `upgrade.first`, and worker-03 fails.

let run: CanaryRun;

beforeAll(async () => {
  ({ outcome: run } = await runInOwnProcess<CanaryRun>("canary"));
});

test("of 12 workers, the one in upgrade.first is upgraded alone, and the others at most three at a time", () => {
  expectSucceeded(run.firstUpdate);
  const { upgrades, reboots } = run.firstUpdate;
  expect(upgrades).toHaveLength(workerCount);
  expect(upgrades[0]!.machine).toBe(firstMachine);
  for (const { begin } of upgrades.slice(1)) expect(begin).toBeGreaterThan(upgrades[0]!.end);
  for (const { begin } of upgrades) {
    const concurrentUpgrades = upgrades.filter(
      (other) => other.begin <= begin && begin < other.end,
    );
    expect(concurrentUpgrades.length).toBeLessThanOrEqual(3);
  }
  expect(Object.values(reboots)).toEqual(Array(workerCount).fill(1));
});

test("the node of the machine in upgrade.first takes pods again only after its smoke test", () => {
  const { lines, cordoned } = run.firstUpdate;
  // Pulumi may swap lines of the same moment; the gate's own test compares the order of these two.
  for (const line of ["its smoke test passed", `node ${firstMachine} is schedulable again`])
    expectLinesInOrder(lines, [
      `node ${firstMachine} stays cordoned until its smoke test has passed`,
      `${firstMachine}: ${line}`,
    ]);
  const nextUpgrade = lines.findIndex((line) => /worker-(?!05).*: reach: /.test(line));
  expect(nextUpgrade).toBeGreaterThan(
    lines.findIndex((line) => line.includes(`node ${firstMachine} is schedulable again`)),
  );
  expect(cordoned).toEqual([]);
});

test("after one machine failed, no further upgrade begins, and the update reports each machine's state", () => {
  const { result, lines, upgrades, reboots, cordoned } = run.failedUpdate;
  expect(result).toBe("failed");
  // Printed at the failure, and again when the upgrades that had already begun are finished.
  const summaryLines = lines.flatMap((line, index) =>
    line.includes("State of the machines") ? [index] : [],
  );
  const summary = lines.slice(summaryLines.at(-1), summaryLines.at(-1)! + 8).join("\n");
  const machinesInState = (state: string): string[] =>
    (new RegExp(`(?:^|: ) *${state} \\(\\d+\\): ([^;\n]*)`, "m").exec(summary)?.[1] ?? "")
      .split(", ")
      .filter((name) => name !== "");
  expect(machinesInState("failed")).toEqual([failingMachine]);
  expect(machinesInState("done")).toContain(firstMachine);
  // Whether a machine was only configured or already being upgraded at the failure depends on the computer's load.
  const untouched = [
    ...machinesInState("configured, not upgraded"),
    ...machinesInState("not started"),
  ];
  expect([...machinesInState("failed"), ...machinesInState("done"), ...untouched].sort()).toEqual(
    Object.keys(reboots).sort(),
  );
  // The printed states agree with the machines' own records.
  expect(machinesInState("not started").length).toBeGreaterThanOrEqual(6);
  for (const name of untouched) expect([name, reboots[name]]).toEqual([name, 1]);
  for (const name of machinesInState("done"))
    expect(upgrades.map(({ machine }) => machine)).toContain(name);
  expect(cordoned).toEqual([failingMachine]);
  expect(machinesInState("cordoned")).toEqual([failingMachine]);
});

test("the next update upgrades the remaining machines, and a further one changes nothing", () => {
  expectSucceeded(run.repairingUpdate);
  expect(run.repairingUpdate.upgrades.map(({ machine }) => machine)).toContain(failingMachine);
  expect(run.repairingUpdate.cordoned).toEqual([]);
  expectSucceeded(run.unchangedUpdate);
  expect(run.unchangedUpdate.upgrades).toEqual([]);
  expect(run.unchangedUpdate.reboots).toMatchObject(run.repairingUpdate.reboots);
});

test("the destroy leaves nothing", () => expect(run.leftovers).toEqual([]));
