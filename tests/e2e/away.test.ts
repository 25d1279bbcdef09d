import type { AwayRun } from "./runs/away";
import { expectLinesInOrder, expectSucceeded } from "./support/labs";
import { runInOwnProcess } from "./support/own-process";

// Two workers. The desk has `mayBeAway: true`, and loses power after the first update.

let run: AwayRun;

beforeAll(async () => {
  ({ outcome: run } = await runInOwnProcess<AwayRun>("away"));
});

test("the controller manager, not the kubelet, reports that the machine is off", () =>
  expect(run.readyWhenOff).toBe("Unknown"));

test("while a machine is off, an update changes chart, DaemonSets, power limit and driver of the others", () => {
  expectSucceeded(run.firstUpdate);
  expect(run.firstUpdate.reboots).toEqual({ desk: 1, server: 1 });
  expectSucceeded(run.updateWhileAway);
  for (const change of [
    "update \\S+-release",
    "update \\S+-exporter",
    "create \\S+-power-limit-250w",
    "delete \\S+-power-limit-300w",
  ])
    expectLinesInOrder(run.updateWhileAway.lines, [change]);
  expect(run.updateWhileAway.reboots).toEqual({ desk: 0, server: 1 });
  expectSucceeded(run.unchangedWhileAway);
  expect(run.unchangedWhileAway.reboots).toEqual({ desk: 0, server: 0 });
});

test("the update after its return changes the machine, and a further one changes nothing", () => {
  expectSucceeded(run.updateAfterReturn);
  expect(run.updateAfterReturn.reboots).toEqual({ desk: 1, server: 0 });
  expectSucceeded(run.unchangedUpdate);
  expect(run.unchangedUpdate.changes).toMatchObject({
    create: 0,
    update: 0,
    replace: 0,
    delete: 0,
  });
});

test("the destroy leaves nothing", () => expect(run.leftovers).toEqual([]));
