import type { UpgradeContext } from "../../components/program/upgrade/run";
import type { UpgradeTask } from "../../components/program/task";
import { upgrade } from "../../components/program/upgrade/upgrade";
import { FakeClock, FakeCluster, FakeMachine, NVIDIA_MODULES, createUpgradeTask } from "./fakes";

const moduleList = NVIDIA_MODULES.map((name) => `{name: ${name}}`).join(", ");
/** A configuration that asks for the driver, and is staged for the next boot. */
export const STAGED = `machine:\n  type: worker\n  kernel: {modules: [${moduleList}]}\n`;

/** A plain machine on v1.12.4 with a staged configuration, and everything that its upgrade needs. */
export function setupUpgrade(taskFields: Partial<UpgradeTask> = {}) {
  const clock = new FakeClock();
  const machine = new FakeMachine(clock);
  machine.persistent = STAGED;
  const cluster = new FakeCluster(clock, machine);
  const logLines: string[] = [];
  const task = createUpgradeTask(taskFields);
  const context: UpgradeContext = {
    machine,
    others: new Map(),
    cluster,
    clientVersion: "v1.13.0",
    clock,
    report: (line) => logLines.push(line),
  };
  return {
    clock,
    machine,
    cluster,
    logLines,
    context,
    task,
    run: (): ReturnType<typeof upgrade> => upgrade(task, context),
  };
}

/** The error message of a run that must fail. */
export const errorMessageOf = async (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => {
      throw new Error("the run succeeded, but must fail");
    },
    (error: Error) => error.message,
  );
