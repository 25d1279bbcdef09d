import { persistent } from "../../../components/clients/clock";
import type { adopt } from "../../../components/program/adopt";
import { omniWaitTask } from "../../../components/program/task";
import { upgrade } from "../../../components/program/upgrade/upgrade";
import { omniResources } from "../../../components/recipe";
import { FakeClock, FakeMachine } from "../fakes";
import { FakeOmni } from "../omni/fake-omni";
import { setupUpgrade } from "../setup";
import { ApiInMemory } from "./api-in-memory";
import { Calls, type Fault } from "./faults";

/** The call that fails, and its fault. */
export type FailingCall = { index: number; fault: Fault } | undefined;
/** Calls of a run, its answer or error, and the state at the end. */
export interface RunOutcome {
  calls: string[];
  state: unknown;
}
/** A run of a program in which one call may fail. */
export type FaultyRun = (failing: FailingCall) => Promise<RunOutcome>;

/** Discards a line of progress. */
export const ignoreLine = (): void => {};

/**
 * A run's answer without the durations of its phases, or its error's message. A run without a fault must not fail.
 */
export const resultOf = (run: Promise<unknown>, failing: FailingCall): Promise<unknown> =>
  run.then(
    (answer) => ({ ...(answer as object), phases: undefined }),
    (error: Error) => {
      if (failing === undefined) throw error;
      return error.message;
    },
  );

/** An upgrade of a machine that `prepareMachine` has changed. */
export const upgradeRun =
  (
    prepareMachine: (setup: ReturnType<typeof setupUpgrade>) => void,
    taskFields: Parameters<typeof setupUpgrade>[0] = {},
  ): FaultyRun =>
  async (failing) => {
    const setup = setupUpgrade({ pollSeconds: 10, ...taskFields });
    const { clock, machine, cluster, context, task } = setup;
    prepareMachine(setup);
    const calls = new Calls(clock, failing);
    const answer = await resultOf(
      upgrade(task, {
        ...context,
        machine: persistent(clock, calls.ofTalos(machine)),
        others: new Map(
          [...context.others].map(([address, otherMachine]) => [
            address,
            persistent(clock, calls.ofTalos(otherMachine)),
          ]),
        ),
        cluster: persistent(clock, calls.ofKubernetes(cluster)),
      }),
      failing,
    );
    const {
      bootCount,
      schematicId,
      talosVersion,
      active,
      persistent: stagedConfiguration,
    } = machine;
    const reboots = machine.calls.filter((call) => /^(reboot|upgrade)/.test(call));
    const node = { ...cluster.state, pods: cluster.podList.map(({ name }) => name) };
    return {
      calls: calls.callNames,
      state: {
        answer,
        bootCount,
        schematicId,
        talosVersion,
        active,
        stagedConfiguration,
        reboots,
        node,
      },
    };
  };

/** Runs of a program that changes the machine's configuration. */
export const configurationRun =
  (
    run: (context: Parameters<typeof adopt>[2]) => Promise<unknown>,
    configuration: string,
  ): FaultyRun =>
  async (failing) => {
    const clock = new FakeClock();
    const machine = new FakeMachine(clock);
    machine.active = machine.persistent = configuration;
    const calls = new Calls(clock, failing);
    const persistentMachine = persistent(clock, calls.ofTalos(machine));
    const answer = await resultOf(
      run({ machine: persistentMachine, clock, report: ignoreLine, isAwaited: () => true }),
      failing,
    );
    return {
      calls: calls.callNames,
      state: { answer, active: machine.active, stagedConfiguration: machine.persistent },
    };
  };

/** Runs of a program that calls only Kubernetes. */
export const clusterRun =
  (
    objects: () => ApiInMemory["objects"],
    run: (
      cluster: ReturnType<ApiInMemory["cluster"]>,
      clock: FakeClock,
      api: ApiInMemory,
    ) => Promise<unknown>,
  ): FaultyRun =>
  async (failing) => {
    const clock = new FakeClock();
    const api = new ApiInMemory(objects());
    const calls = new Calls(clock, failing);
    const cluster = api.cluster();
    calls.ofApi(cluster["api"]);
    const answer = await resultOf(run(persistent(clock, cluster), clock, api), failing);
    return { calls: calls.callNames, state: { answer, writes: api.writes, objects: api.objects } };
  };

/** Runs of a program that calls Omni and a machine. With `isApplied`, Omni already has all resources of the task. */
export const omniRun =
  (
    run: (omni: FakeOmni, machine: FakeMachine, clock: FakeClock) => Promise<unknown>,
    isApplied = false,
  ): FaultyRun =>
  async (failing) => {
    const clock = new FakeClock();
    const omni = new FakeOmni();
    if (isApplied) for (const resource of omniTask.resources) await omni.apply([resource]);
    omni.calls.length = 0;
    const calls = new Calls(clock, failing);
    const machine = new FakeMachine(clock);
    machine.talosVersion = "v1.12.6";
    const answer = await resultOf(
      run(persistent(clock, calls.ofTalos(omni)), persistent(clock, calls.ofTalos(machine)), clock),
      failing,
    );
    return { calls: calls.callNames, state: { answer, resources: [...omni.resources] } };
  };

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
/** The resources that Omni must have for a machine. */
export const omniTask = {
  machine: "gpu-1",
  uuid,
  cluster: "frank",
  resources: omniResources({
    uuid,
    cluster: "frank",
    patches: ["machine: {sysctls: {a: b}}\n"],
    extensions: ["siderolabs/x"],
  }),
};
/** The following wait for Omni. */
export const omniWait = omniWaitTask.parse({
  machine: "gpu-1",
  address: "192.0.2.1",
  uuid,
  cluster: "frank",
  talosVersion: "v1.12.6",
  configurationHash: "h",
  extensions: ["siderolabs/x"],
  modules: [],
  extensionServices: [],
  files: {},
  timeouts: { reboot: "10m", verify: "5m" },
});
