import type { Workbench } from "../../components/program/upgrade/run";
import type { UpgradeTask } from "../../components/program/task";
import { upgrade } from "../../components/program/upgrade/upgrade";
import { FakeClock, FakeCluster, FakeMachine, task } from "./fakes";

/** A configuration that asks for the driver, and is staged for the next boot. */
export const STAGED = "machine:\n  type: worker\n  kernel: {modules: [{name: nvidia}]}\n";

/** A plain machine on v1.12.4 with a staged configuration, and everything that its upgrade works with. */
export function setup(more: Partial<UpgradeTask> = {}) {
  const clock = new FakeClock();
  const machine = new FakeMachine(clock);
  machine.persistent = STAGED;
  const cluster = new FakeCluster(clock, machine);
  const lines: string[] = [];
  const wanted = task(more);
  const bench: Workbench = {
    machine,
    others: new Map(),
    cluster,
    clientVersion: "v1.13.0",
    clock,
    report: (line) => lines.push(line),
  };
  return {
    clock,
    machine,
    cluster,
    lines,
    bench,
    wanted,
    run: (): ReturnType<typeof upgrade> => upgrade(wanted, bench),
  };
}

/** The error message of a run; fails if the run succeeds. */
export const failure = async (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "no failure",
    (error: Error) => error.message,
  );
