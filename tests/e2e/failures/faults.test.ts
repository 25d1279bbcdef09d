import { killedPhases } from "../runs/faults-phases";
import type { Outcome } from "../runs/faults";
import type { Ran } from "../runs/faults-stand";
import { runApart } from "../support/apart";

// The program's unit tests go through every call of a fake. Here all parts are real, apart from the machines'
// hardware.

let outcomes: Record<string, Outcome>;

beforeAll(async () => {
  ({ outcome: outcomes } = await runApart<Record<string, Outcome>>("faults"));
});

/** The runs of a case, after a check that the machine ended as planned. */
function endedWell(name: string, reboots = 1): Ran[] {
  const { runs, error, machine, node } = outcomes[name]!;
  if (error !== undefined) throw new Error(error);
  const last = runs.at(-1)!;
  if (last.status !== 0) throw new Error(`the last run failed:\n${last.lines.join("\n")}`);
  expect(machine).toMatchObject({ reboots, driverVersion: "570.211.01" });
  expect(last.answer).toMatchObject({
    driverVersion: machine.driverVersion,
    schematicId: machine.schematicId,
  });
  expect(node).toEqual({ unschedulable: false, marked: false });
  return runs;
}

test.each([...killedPhases.map((phase) => `kill-${phase}`), "kill-going-down"])(
  "after %s the next run succeeds, with one reboot in total and the node uncordoned",
  (machine) => {
    const [first] = endedWell(machine);
    expect(first!.status).toBe("SIGKILL");
  },
);

test("an image that does not boot is reported as rolled back, and a second run succeeds", () => {
  // Three reboots: into the broken boot slot, back from it, and that of the second run.
  const [first] = endedWell("rollback", 3);
  expect(first!.status).toBe(1);
  expect(first!.lines.at(-1)).toMatch(
    /machines\.rollback: Talos rolled back, .*: after the reboot the machine runs the old image/,
  );
});

test("a paused boot is reported at once, and the next run succeeds with the corrected configuration", () => {
  const [first, last] = endedWell("paused-boot", outcomes["paused-boot"]!.machine.reboots);
  expect(first!.status).toBe(1);
  expect(first!.lines.at(-1)).toMatch(
    /machines\.paused-boot: its boot does not go on: .*writeUserFiles failed/,
  );
  // With the broken configuration the machine boots again after each pause (talos v1.12.6,
  // v1alpha1_sequencer_tasks.go). The number of pauses until the correction depends on time. Then two reboots are
  // needed: the one out of the pause, by the program or by the machine itself, and that of the upgrade.
  expect(outcomes["paused-boot"]!.machine.reboots - last!.rebootsBefore!).toBeLessThanOrEqual(2);
});

test.each(["refuse-some", "drop-some", "hang-once", "hang-pull"])(
  "with the fault %s one run succeeds, with one reboot",
  (machine) => {
    expect(endedWell(machine)).toHaveLength(1);
  },
);

test.each(["refuse-all", "hang-all"])(
  "with the fault %s a run ends within its limits, and the error says what it waited for",
  (machine) => {
    const [first] = endedWell(machine);
    expect(first!.status).toBe(1);
    const said = first!.lines.join("\n");
    expect(said).toMatch(
      new RegExp(
        `machines\\.${machine}\\.address: the machine at \\S+ was not up within 8s \\(last: .+\\)`,
      ),
    );
    expect(said).toContain("nothing was changed on the machine");
  },
);
