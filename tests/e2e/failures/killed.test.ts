import Table from "cli-table3";
import type { KilledRun } from "../runs/killed";
import { runApart } from "../support/apart";

// Pulumi's engine, its file backend and its locks are real. So are Kubernetes and its provider, which adopts
// nothing (lab/tests/engine/provider.test.ts).

let run: KilledRun;
let said: string;

beforeAll(async () => {
  ({ outcome: run, said } = await runApart<KilledRun>(
    "killed",
    "tests/e2e/stacks/Pulumi.life.yaml",
  ));
  const table = new Table({
    head: ["stopped by", "in", "then", "the next update", "reboots"],
    style: { head: [] },
  });
  for (const { signal, phase, commands, next, reboots } of run.cases)
    table.push([signal, phase, commands.join("\n") || "–", next.slice(0, 40), reboots]);
  process.stderr.write(`${table.toString()}\n`);
});

/**
 * The commands that every SIGKILL needs. The file next to Pulumi's state is half written only if the kill comes at
 * that very moment; lab/tests/engine tests this case.
 */
const always = (commands: string[]): string[] =>
  commands.filter((command) => command !== "rm STACK.json.attrs");

const phases = [
  "configuration",
  "reboot",
  "release installed",
  "smoke test",
  "workload",
  "model",
  "release upgraded",
  "destroy",
];

test.each(["SIGKILL", "SIGINT"])(
  "after %s in every phase of a stack's life, each next update continues, and the last one succeeds",
  (signal) => {
    const cases = run.cases.filter(
      (each) => each.signal === signal && each.phase !== "workload, imported",
    );
    try {
      // The list includes the errors of the next update, so that a failure of this test shows them.
      const green = ["model", "release upgraded", "destroy"];
      const wanted = phases.map((phase) => [phase, green.includes(phase) ? "green" : "beyond"]);
      expect(cases.map(({ phase, next }) => [phase, next])).toEqual(wanted);
      for (const { commands, reboots } of cases) {
        // The commands are only those of the troubleshooting page, and are needed only if Pulumi could not remove
        // its lock.
        if (signal === "SIGKILL") expect(always(commands)).toEqual(["pulumi cancel"]);
        else expect(commands).toEqual([]);
        expect(reboots).toBeLessThanOrEqual(1);
      }
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${said.slice(-8_000)}`, { cause: error });
    }
  },
);

test("objects that must not be deleted are imported into the state by the command in the docs", () => {
  const { next, commands } = run.cases.find(({ phase }) => phase === "workload, imported")!;
  const wanted = ["pulumi cancel", "pulumi refresh --import-pending-creates"];
  expect([next, always(commands)]).toEqual(["beyond", wanted]);
});

test("the destroy leaves nothing", () => {
  expect(run.cases.at(-1)).toMatchObject({ signal: "SIGINT", phase: "destroy", next: "green" });
  expect(run.left).toEqual([]);
});
