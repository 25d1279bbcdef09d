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
export type Failing = { at: number; fault: Fault } | undefined;
/** The result of a run: its answer or error, and the state at the end. */
export interface Outcome {
  calls: string[];
  is: unknown;
}
/** A run of a program in which one call may fail. */
export type Play = (failing: Failing) => Promise<Outcome>;

/** Discards a line of progress. */
export const quiet = (): void => {};

/**
 * A run's answer without the durations of its phases, or its error. A run without a fault must not have an error.
 */
export const ended = (run: Promise<unknown>, failing: Failing): Promise<unknown> =>
  run.then(
    (answer) => ({ ...(answer as object), phases: undefined }),
    (error: Error) => {
      if (failing === undefined) throw error;
      return error.message;
    },
  );

/** An upgrade of a machine that `arrange` has prepared. */
export const upgrading =
  (
    arrange: (parts: ReturnType<typeof setupUpgrade>) => void,
    more: Parameters<typeof setupUpgrade>[0] = {},
  ): Play =>
  async (failing) => {
    const parts = setupUpgrade({ pollSeconds: 10, ...more });
    const { clock, machine, cluster, workbench, task } = parts;
    arrange(parts);
    const calls = new Calls(clock, failing);
    const answer = await ended(
      upgrade(task, {
        ...workbench,
        machine: persistent(clock, calls.ofTalos(machine)),
        others: new Map(
          [...workbench.others].map(([at, other]) => [at, persistent(clock, calls.ofTalos(other))]),
        ),
        cluster: persistent(clock, calls.ofKubernetes(cluster)),
      }),
      failing,
    );
    const { bootCount: boots, schematicId, talosVersion, active, persistent: next } = machine;
    const reboots = machine.calls.filter((call) => /^(reboot|upgrade)/.test(call));
    const node = { ...cluster.state, pods: cluster.podList.map(({ name }) => name) };
    return {
      calls: calls.made,
      is: { answer, boots, schematicId, talosVersion, active, next, reboots, node },
    };
  };

/** Runs of a program that changes the machine's configuration. */
export const configuring =
  (run: (bench: Parameters<typeof adopt>[2]) => Promise<unknown>, live: string): Play =>
  async (failing) => {
    const clock = new FakeClock();
    const machine = new FakeMachine(clock);
    machine.active = machine.persistent = live;
    const calls = new Calls(clock, failing);
    const through = persistent(clock, calls.ofTalos(machine));
    const answer = await ended(
      run({ machine: through, clock, report: quiet, isAwaited: () => true }),
      failing,
    );
    return { calls: calls.made, is: { answer, active: machine.active, next: machine.persistent } };
  };

/** Runs of a program that calls only Kubernetes. */
export const inCluster =
  (
    objects: () => ApiInMemory["objects"],
    run: (
      cluster: ReturnType<ApiInMemory["cluster"]>,
      clock: FakeClock,
      api: ApiInMemory,
    ) => Promise<unknown>,
  ): Play =>
  async (failing) => {
    const clock = new FakeClock();
    const api = new ApiInMemory(objects());
    const calls = new Calls(clock, failing);
    const cluster = api.cluster();
    calls.ofApi(cluster["api"]);
    const answer = await ended(run(persistent(clock, cluster), clock, api), failing);
    return { calls: calls.made, is: { answer, writes: api.writes, objects: api.objects } };
  };

/** Runs of a program that calls Omni and a machine. With `held`, Omni already has everything in the task. */
export const inOmni =
  (
    run: (omni: FakeOmni, machine: FakeMachine, clock: FakeClock) => Promise<unknown>,
    held = false,
  ): Play =>
  async (failing) => {
    const clock = new FakeClock();
    const omni = new FakeOmni();
    if (held) for (const resource of omniTask.resources) await omni.apply([resource]);
    omni.calls.length = 0;
    const calls = new Calls(clock, failing);
    const machine = new FakeMachine(clock);
    machine.talosVersion = "v1.12.6";
    const answer = await ended(
      run(persistent(clock, calls.ofTalos(omni)), persistent(clock, calls.ofTalos(machine)), clock),
      failing,
    );
    return { calls: calls.made, is: { answer, held: [...omni.held] } };
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
