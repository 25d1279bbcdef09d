import Table from "cli-table3";
import type { KilledRun } from "../runs/killed";
import { runInOwnProcess } from "../support/own-process";

// Pulumi's engine, its file backend and its locks are real. So are Kubernetes and its provider, which adopts
// nothing (lab/tests/engine/provider.test.ts).

let run: KilledRun;
let stderr: string;

beforeAll(async () => {
  ({ outcome: run, stderr } = await runInOwnProcess<KilledRun>(
    "killed",
    "tests/e2e/stacks/Pulumi.life.yaml",
  ));
  const table = new Table({
    head: ["stopped by", "in", "then", "the next update", "reboots"],
    style: { head: [] },
  });
  for (const { signal, phase, commands, nextUpdate, reboots } of run.cases)
    table.push([signal, phase, commands.join("\n") || "–", nextUpdate.slice(0, 40), reboots]);
  process.stderr.write(`${table.toString()}\n`);
});

/**
 * The commands that every SIGKILL needs. The file next to Pulumi's state is half written only if the kill comes at
 * that very moment; lab/tests/engine tests this case.
 */
const commandsAfterEachKill = (commands: string[]): string[] =>
  commands.filter((command) => command !== "rm STACK.json.attrs");

const phases = [
  "configuration",
  "reboot",
  "release installed",
  "smoke test",
  "workload",
  "model",
  "release upgraded",
  "release upgraded, contradictory record",
  "destroy",
];

/** Phases that only one of the signals has. */
const signalOf: Record<string, string> = {
  "workload, imported": "SIGKILL",
  "release upgraded, contradictory record": "SIGINT",
};

test.each(["SIGKILL", "SIGINT"])(
  "after %s in every phase of a stack's life, each next update continues, and the last one succeeds",
  (signal) => {
    const cases = run.cases.filter(
      (killedCase) => killedCase.signal === signal && killedCase.phase !== "workload, imported",
    );
    try {
      // The list includes the errors of the next update, so that a failure of this test shows them.
      const phasesBeforeSuccess = ["model", ...phases.slice(phases.indexOf("release upgraded"))];
      expect(cases.map(({ phase, nextUpdate }) => ({ phase, nextUpdate }))).toEqual(
        phases
          .filter((phase) => (signalOf[phase] ?? signal) === signal)
          .map((phase) => ({
            phase,
            nextUpdate: phasesBeforeSuccess.includes(phase)
              ? "succeeded"
              : "killed in a later phase",
          })),
      );
      for (const { commands, reboots } of cases) {
        // The commands are only those of the troubleshooting page, and are needed only if Pulumi could not remove
        // its lock.
        if (signal === "SIGKILL")
          expect(commandsAfterEachKill(commands)).toEqual(["pulumi cancel"]);
        else expect(commands).toEqual([]);
        expect(reboots).toBeLessThanOrEqual(1);
      }
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${stderr.slice(-8_000)}`, { cause: error });
    }
  },
);

test("objects that must not be deleted are imported into the state by the command in the docs", () => {
  const { nextUpdate, commands } = run.cases.find(({ phase }) => phase === "workload, imported")!;
  expect(nextUpdate).toBe("killed in a later phase");
  expect(commandsAfterEachKill(commands)).toEqual([
    "pulumi cancel",
    "pulumi refresh --import-pending-creates",
  ]);
});

test("the destroy leaves nothing", () => {
  expect(run.cases.at(-1)).toMatchObject({
    signal: "SIGINT",
    phase: "destroy",
    nextUpdate: "succeeded",
  });
  expect(run.leftovers).toEqual([]);
});
