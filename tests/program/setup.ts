import type { Workbench } from "../../components/program/upgrade/run";
import type { UpgradeTask } from "../../components/program/task";
import { upgrade } from "../../components/program/upgrade/upgrade";
import { FakeClock, FakeCluster, FakeMachine, task } from "./fakes";

/** A configuration that waits for the next boot and asks for the driver. */
export const STAGED = "machine:\n  type: worker\n  kernel: {modules: [{name: nvidia}]}\n";

/** A plain machine on v1.12.4 with a staged configuration, and all that an upgrade of it works with. */
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

/** Message of a run that fails. */
export const failure = async (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => "no failure",
    (error: Error) => error.message,
  );
