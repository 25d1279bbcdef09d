import type { CallErrorKind } from "../../../components/clients/failure";
import type { Machine } from "../../../components/clients/talos/talos-machine";
import type { NodeState } from "../../../components/program/cluster/cluster";
import type { UpgradeResult, UpgradeTask } from "../../../components/program/task";
import type { UpgradeContext } from "../../../components/program/upgrade/run";
import { type Previous, upgrade } from "../../../components/program/upgrade/upgrade";
import { hopPhases, pausePhases, type UpgradePhase } from "../../../components/recipe/effect";
import { factoryImage, type FakeCluster, FakeMachine } from "../fakes";
import { setupUpgrade } from "../setup";

/** A text, or a pattern, that must occur. */
type Part = string | RegExp;

/** A call to the machine that fails. */
export interface FailingCall {
  call: keyof Machine;
  problem: CallErrorKind;
  /** How often it fails. Default 1. */
  times?: number;
  /** Whether the machine does what was asked, and only its answer is lost. Default: false. */
  takesEffect?: boolean;
}

/** A call that changes the machine or its node; an event can follow it. */
type ChangingCall =
  "pull" | "activate" | "upgrade" | "reboot" | "cordon" | "evict" | "uncordon" | "removeAnnotation";

/** Something that happens so many seconds after the run begins, during a call, or so many seconds after a call. */
export type Event = ({ atSecond: number } | { afterCall: ChangingCall; seconds?: number }) & {
  /** Fields of the machine from then on. */
  machine?: Partial<FakeMachine>;
  /** Fields of the cluster from then on. */
  cluster?: Partial<FakeCluster>;
  /** Fields of the machine's node from then on. */
  node?: Partial<NodeState>;
  /** Boots of the machine that were not requested. */
  restarts?: number;
  /** Name of a pod that is deleted. */
  deletedPod?: string;
};

/** The state that a run leaves, whether it succeeds or fails. */
interface Aftermath {
  /** Calls that change the machine, in order. */
  machineCalls?: string[];
  /** Calls that change objects in Kubernetes, in order; repeated calls count once. */
  kubernetesCalls?: string[];
  /** Neither the machine nor Kubernetes is changed. */
  changesNothing?: true;
  /** Fields of the machine at the end. */
  machine?: Partial<FakeMachine>;
  /** Fields of the machine's node at the end. */
  node?: Partial<NodeState>;
  /** An image that is on the machine's disk at the end, as `<schematic>:<release>`. */
  imageOnDisk?: string;
  /** Progress lines that hold these parts. */
  logs?: Part[];
  /** Parts that exactly one progress line holds. */
  logsOnce?: string[];
  /** Parts that no progress line holds. */
  logsNever?: string[];
  /** Duration of the run by its own clock. */
  minutes?: { atLeast?: number; lessThan: number };
}

/** A run that succeeds. */
interface Success extends Aftermath {
  error?: never;
  /** Fields of the program's answer. */
  result?: Partial<UpgradeResult>;
  /** All phases, in order. */
  phases?: UpgradePhase[];
  /** Number of releases that the machine runs between its first and its last release. Default: 0. */
  intermediateReleases?: number;
  /** The shortest time of a phase, in seconds. */
  phaseSeconds?: Partial<Record<UpgradePhase, number>>;
}

/** A run that fails. */
interface Failure extends Aftermath {
  /** Parts of the error's message, at least one. */
  error: [Part, ...Part[]];
  /** One part for each line of the error's message. */
  errorLines?: Part[];
  /** Parts that the error's message does not contain. */
  errorLacks?: string[];
}

/**
 * A run of the upgrade program on a machine and in a cluster that are both in memory. By default the task asks for
 * v1.12.6 with the driver's image. The machine is a worker without a driver on v1.12.4, and a configuration that
 * asks for the driver is staged on it.
 */
export interface UpgradeRun {
  /** Fields of the task. */
  task?: Partial<UpgradeTask>;
  /** Extensions and kernel arguments that the task's image has in addition. */
  imageAlsoHas?: { extensions?: string[]; kernelArgs?: string[] };
  /** The answer of the previous update. Default: there was none. */
  previousResult?: Previous;
  /** Fields and answers of the machine. */
  machine?: Partial<FakeMachine>;
  /** Fields and answers of the cluster. */
  cluster?: Partial<FakeCluster>;
  /** Fields of the machine's node that change before the run. The others keep the values of the previous run. */
  node?: Partial<NodeState>;
  /** Other things that the program works with, such as the clock. */
  context?: Partial<UpgradeContext>;
  /** The stack's other control planes, by address. */
  otherControlPlanes?: Record<string, Partial<FakeMachine>>;
  /** Machines at other addresses of the cluster, which the stack does not list. */
  outsideStack?: Record<string, Partial<FakeMachine>>;
  /** A release that an earlier run has installed and booted, and whose upgrade Talos has not confirmed. */
  unconfirmedUpgradeTo?: string;
  failingCalls?: FailingCall[];
  events?: Event[];
  /** What the run's result must be. */
  expect: Success | Failure;
}

/**
 * Runs the upgrade program on the same machine, once for each entry. Fails unless every run has its expected result.
 */
export async function runUpgrade(...runs: [UpgradeRun, ...UpgradeRun[]]): Promise<void> {
  const setup = setupUpgrade();
  for (const run of runs) await runAndCheck(setup, run);
}

/** A plain upgrade. A later run then finds the machine up to date. */
export const plainUpgrade: UpgradeRun = { expect: { result: { rebooted: true } } };

type Setup = ReturnType<typeof setupUpgrade>;

/** Clock and counters before a run, since runs share the machine. */
interface StateBefore {
  time: number;
  machineCallCount: number;
  kubernetesCallCount: number;
  logLineCount: number;
}

async function runAndCheck(setup: Setup, run: UpgradeRun): Promise<void> {
  const { clock, machine, cluster, logLines } = setup;
  const stateBefore: StateBefore = {
    time: clock.now(),
    machineCallCount: machine.calls.length,
    kubernetesCallCount: cluster.calls.length,
    logLineCount: logLines.length,
  };
  arrange(setup, run);
  const bootsBefore = machine.bootCount;
  const { task } = setupUpgrade(run.task);
  task.image.extensions.push(...(run.imageAlsoHas?.extensions ?? []));
  task.image.kernelArgs.push(...(run.imageAlsoHas?.kernelArgs ?? []));

  const outcome = await upgrade(
    task,
    { ...setup.context, ...run.context },
    run.previousResult,
  ).then(
    (result) => ({ result }),
    (error: Error) => ({ error }),
  );

  if (run.expect.error === undefined) {
    if ("error" in outcome) throw outcome.error;
    checkSuccess(outcome.result, run.expect);
    const { machine: name, talosVersion, schematicId } = task;
    expect(outcome.result).toMatchObject({
      machine: name,
      talosVersion,
      schematicId,
      rebooted: machine.bootCount > bootsBefore,
    });
  } else {
    const message = "error" in outcome ? outcome.error.message : "no failure";
    for (const part of run.expect.error) expect(message).toEqual(containing(part));
    if (run.expect.errorLines)
      expect(message.split("\n")).toEqual(run.expect.errorLines.map(containing));
    for (const part of run.expect.errorLacks ?? []) expect(message).not.toContain(part);
  }
  checkAftermath(setup, stateBefore, run.expect);
}

function checkSuccess(result: UpgradeResult, expected: Success): void {
  if (expected.result) expect(result).toMatchObject(expected.result);
  const phases = result.phases.map(({ name }) => name);
  // A run's limit (`longestRun`) counts each phase once, and those of a paused boot twice. It counts those of an
  // intermediate release once more for each such release.
  const { intermediateReleases = 0 } = expected;
  if (intermediateReleases === 0) {
    const repeated = [...new Set(phases.filter((name, index) => phases.indexOf(name) !== index))];
    expect(repeated).toEqual(pausePhases.filter((name) => repeated.includes(name)));
  } else
    for (const phase of phases) {
      const count = phases.filter((name) => name === phase).length;
      const isRepeated = hopPhases.some((name) => name === phase);
      expect({ phase, count }).toEqual({ phase, count: isRepeated ? intermediateReleases + 1 : 1 });
    }
  if (expected.phases) expect(phases).toEqual(expected.phases);
  for (const [phase, seconds] of Object.entries(expected.phaseSeconds ?? {}))
    expect(result.phases.find(({ name }) => name === phase)!.seconds).toBeGreaterThanOrEqual(
      seconds,
    );
}

function checkAftermath(
  { clock, machine, cluster, logLines }: Setup,
  stateBefore: StateBefore,
  expected: Aftermath,
): void {
  const machineCalls = machine.calls.slice(stateBefore.machineCallCount);
  const kubernetesCalls = [...new Set(cluster.calls.slice(stateBefore.kubernetesCallCount))];
  if (expected.changesNothing) {
    expect(machineCalls).toEqual([]);
    expect(kubernetesCalls).toEqual([]);
  }
  if (expected.machineCalls) expect(machineCalls).toEqual(expected.machineCalls);
  if (expected.kubernetesCalls) expect(kubernetesCalls).toEqual(expected.kubernetesCalls);
  if (expected.machine) expectEqualFields(machine, expected.machine);
  if (expected.node) expectEqualFields(cluster.state!, expected.node);
  if (expected.imageOnDisk) expect(machine.diskImages).toContain(expected.imageOnDisk);

  const newLogLines = logLines.slice(stateBefore.logLineCount);
  for (const part of expected.logs ?? []) expect(newLogLines).toContainEqual(containing(part));
  for (const part of expected.logsOnce ?? [])
    expect(newLogLines.filter((line) => line.includes(part))).toHaveLength(1);
  for (const part of expected.logsNever ?? []) expect(newLogLines.join("\n")).not.toContain(part);

  if (expected.minutes) {
    const minutes = (clock.now() - stateBefore.time) / 60_000;
    expect(minutes).toBeGreaterThanOrEqual(expected.minutes.atLeast ?? 0);
    expect(minutes).toBeLessThan(expected.minutes.lessThan);
  }
}

/** Fails unless each expected field has the expected value, without further keys. */
function expectEqualFields<T extends object>(actual: T, expected: Partial<T>): void {
  const names = Object.keys(expected) as (keyof T)[];
  expect(Object.fromEntries(names.map((name) => [name, actual[name]]))).toEqual(expected);
}

const containing = (part: Part): unknown =>
  typeof part === "string" ? expect.stringContaining(part) : expect.stringMatching(part);

function arrange({ clock, machine, cluster, context }: Setup, run: UpgradeRun): void {
  const createMachine = (fields: Partial<FakeMachine>): FakeMachine =>
    setFields(new FakeMachine(clock), fields);
  setFields(machine, run.machine ?? {});
  if (run.unconfirmedUpgradeTo !== undefined) {
    machine.install(factoryImage(run.unconfirmedUpgradeTo));
    machine.boot();
    // The machine now runs the image that it booted, so only the other fields of the run apply.
    const { talosVersion: _version, schematicId: _schematic, ...otherFields } = run.machine ?? {};
    setFields(machine, otherFields);
  }
  for (const { call, problem, times, takesEffect } of run.failingCalls ?? [])
    machine.failCalls(call, problem, times, takesEffect);
  for (const [address, fields] of Object.entries(run.outsideStack ?? {}))
    machine.network[address] = createMachine(fields);
  const otherControlPlanes = Object.entries(run.otherControlPlanes ?? {});
  if (otherControlPlanes.length > 0)
    context.others = new Map(
      otherControlPlanes.map(([address, fields]) => [address, createMachine(fields)]),
    );
  Object.assign(cluster, run.cluster);
  if (run.node) cluster.state = { ...cluster.state!, ...run.node };

  const applyEvent = (event: Event): void => {
    setFields(machine, event.machine ?? {});
    machine.bootCount += event.restarts ?? 0;
    Object.assign(cluster, event.cluster);
    if (event.node) cluster.state = { ...cluster.state!, ...event.node };
    if (event.deletedPod)
      cluster.podList = cluster.podList.filter(({ name }) => name !== event.deletedPod);
  };
  const { events = [] } = run;
  for (const event of events)
    if ("atSecond" in event) clock.after(event.atSecond, () => applyEvent(event));
  machine.afterCall = cluster.afterCall = (call) => {
    for (const event of events) {
      if (!("afterCall" in event) || event.afterCall !== call) continue;
      if (event.seconds === undefined) applyEvent(event);
      else clock.after(event.seconds, () => applyEvent(event));
    }
  };
}

/**
 * Sets fields of a machine, and copies their lists: the machine appends to some of them, and several runs may
 * share one.
 */
function setFields(machine: FakeMachine, fields: Partial<FakeMachine>): FakeMachine {
  const copiedFields = Object.entries(fields).map(([name, value]) => [
    name,
    Array.isArray(value) ? [...value] : value,
  ]);
  return Object.assign(machine, Object.fromEntries(copiedFields));
}
