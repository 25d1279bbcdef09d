import { killedPhases } from "../runs/faults-phases";
import type { CaseResult } from "../runs/faults";
import type { ProgramRun } from "../runs/fault-test-bed";
import { runInOwnProcess } from "../support/own-process";

// The program's unit tests go through every call of a fake. Here all parts are real, apart from the machines'
// hardware.

let results: Record<string, CaseResult>;

beforeAll(async () => {
  ({ outcome: results } = await runInOwnProcess<Record<string, CaseResult>>("faults"));
});

/** The runs of a case, after a check that the machine ended as planned. */
function runsOfSuccessfulCase(name: string, reboots = 1): ProgramRun[] {
  const { runs, error, machine, node } = results[name]!;
  if (error !== undefined) throw new Error(error);
  const lastRun = runs.at(-1)!;
  if (lastRun.status !== 0) throw new Error(`the last run failed:\n${lastRun.lines.join("\n")}`);
  expect(machine).toMatchObject({ reboots, driverVersion: "570.211.01" });
  expect(lastRun.answer).toMatchObject({
    driverVersion: machine.driverVersion,
    schematicId: machine.schematicId,
  });
  expect(node).toEqual({ unschedulable: false, hasCordonMark: false });
  return runs;
}

test.each([...killedPhases.map((phase) => `kill-${phase}`), "kill-going-down"])(
  "after the fault %s the next run succeeds, with one reboot in total and the node uncordoned",
  (machine) => {
    const [killedRun] = runsOfSuccessfulCase(machine);
    expect(killedRun!.status).toBe("SIGKILL");
  },
);

test("an image that does not boot is reported as rolled back, and a second run succeeds", () => {
  // Three reboots: into the broken boot slot, back from it, and that of the second run.
  const [failedRun] = runsOfSuccessfulCase("rollback", 3);
  expect(failedRun!.status).toBe(1);
  expect(failedRun!.lines.at(-1)).toMatch(
    /machines\.rollback: Talos rolled back, .*: after the reboot the machine runs the old image/,
  );
});

test("a paused boot is reported at once, and the next run succeeds with the corrected configuration", () => {
  const [failedRun, lastRun] = runsOfSuccessfulCase(
    "paused-boot",
    results["paused-boot"]!.machine.reboots,
  );
  expect(failedRun!.status).toBe(1);
  expect(failedRun!.lines.at(-1)).toMatch(
    /machines\.paused-boot: its boot does not go on: .*writeUserFiles failed/,
  );
  // With the broken configuration the machine boots again after each pause (talos v1.12.6,
  // v1alpha1_sequencer_tasks.go). The number of pauses until the correction depends on time. Then two reboots are
  // needed: the one out of the pause, by the program or by the machine itself, and that of the upgrade.
  expect(results["paused-boot"]!.machine.reboots - lastRun!.rebootsBefore!).toBeLessThanOrEqual(2);
});

test.each(["refuse-some", "drop-some", "hang-once", "hang-pull"])(
  "with the fault %s one run succeeds, with one reboot",
  (machine) => {
    expect(runsOfSuccessfulCase(machine)).toHaveLength(1);
  },
);

test("after a reboot the program waits until a pod answers an admission webhook again", () => {
  const [run] = runsOfSuccessfulCase("webhooks");
  expect(run!.lines.at(-1)).toMatch(/^webhooks: webhooks: waiting up to \S+ for the pods of /);
});

test.each(["refuse-all", "hang-all"])(
  "with the fault %s a run ends within its limits, and the error says what it waited for",
  (machine) => {
    const [failedRun] = runsOfSuccessfulCase(machine);
    expect(failedRun!.status).toBe(1);
    const output = failedRun!.lines.join("\n");
    expect(output).toMatch(
      new RegExp(
        `machines\\.${machine}\\.address: the machine at \\S+ was not up within 8s \\(last: .+\\)`,
      ),
    );
    expect(output).toContain("nothing was changed on the machine");
  },
);
