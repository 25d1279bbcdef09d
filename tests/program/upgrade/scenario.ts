import type { CallErrorKind } from "../../../components/clients/failure";
import type { Machine } from "../../../components/clients/talos/talos-machine";
import type { NodeState } from "../../../components/program/cluster/cluster";
import type { UpgradeResult, UpgradeTask } from "../../../components/program/task";
import type { Workbench } from "../../../components/program/upgrade/run";
import { upgrade } from "../../../components/program/upgrade/upgrade";
import { hopPhases, pausePhases, type UpgradePhase } from "../../../components/recipe/effect";
import { factoryImage, type FakeCluster, FakeMachine } from "../fakes";
import { setup } from "../setup";

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
  "pull" | "activate" | "upgrade" | "reboot" | "cordon" | "evict" | "uncordon" | "unmark";

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
  /** Number of intermediate releases that the machine runs. Default: 0. */
  hops?: number;
  /** The shortest time of a phase, in seconds. */
  phaseSeconds?: Partial<Record<UpgradePhase, number>>;
}

/** A run that fails. */
interface Failed extends Aftermath {
  /** Parts of the error's message, at least one. */
  error: [Part, ...Part[]];
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
  /** Extensions and kernel arguments that the wanted image has in addition. */
  imageAlsoHas?: { extensions?: string[]; kernelArgs?: string[] };
  /** The answer of the previous update. Default: there was none. */
  previousResult?: Pick<UpgradeResult, "schematicId">;
  /** Fields and answers of the machine. */
  machine?: Partial<FakeMachine>;
  /** Fields and answers of the cluster. */
  cluster?: Partial<FakeCluster>;
  /** Other things that the program works with, such as the clock. */
  workbench?: Partial<Workbench>;
  /** The stack's other control planes, by address. */
  otherControlPlanes?: Record<string, Partial<FakeMachine>>;
  /** Machines at other addresses of the cluster, which the stack does not list. */
  outsideStack?: Record<string, Partial<FakeMachine>>;
  /** A release that an earlier run has installed and booted, and whose upgrade Talos has not confirmed. */
  unconfirmedUpgradeTo?: string;
  failingCalls?: FailingCall[];
  events?: Event[];
  /** What the run's result must be. */
  expect: Success | Failed;
}

/**
 * Runs the program on the same machine, once for each entry, and fails unless every run has its expected result.
 */
export async function play(...runs: [UpgradeRun, ...UpgradeRun[]]): Promise<void> {
  const bench = setup();
  for (const run of runs) await playOne(bench, run);
}

/** A plain upgrade. A later run then finds the machine up to date. */
export const plainUpgrade: UpgradeRun = { expect: { result: { rebooted: true } } };

type Bench = ReturnType<typeof setup>;

async function playOne(bench: Bench, run: UpgradeRun): Promise<void> {
  const { clock, machine, cluster, lines } = bench;
  const before = {
    now: clock.now(),
    calls: machine.calls.length,
    kubernetes: cluster.calls.length,
    lines: lines.length,
  };
  arrange(bench, run);
  const boots = machine.boots;
  const { wanted } = setup(run.task);
  wanted.image.extensions.push(...(run.imageAlsoHas?.extensions ?? []));
  wanted.image.kernelArgs.push(...(run.imageAlsoHas?.kernelArgs ?? []));

  const ended = await upgrade(
    wanted,
    { ...bench.bench, ...run.workbench },
    run.previousResult,
  ).then(
    (result) => ({ result }),
    (error: Error) => ({ error }),
  );

  if (run.expect.error === undefined) {
    if ("error" in ended) throw ended.error;
    checkSuccess(ended.result, run.expect);
    const { machine: name, talosVersion, schematicId } = wanted;
    expect(ended.result).toMatchObject({
      machine: name,
      talosVersion,
      schematicId,
      rebooted: machine.boots > boots,
    });
  } else {
    const message = "error" in ended ? ended.error.message : "no failure";
    for (const part of run.expect.error) expect(message).toEqual(containing(part));
    for (const part of run.expect.errorLacks ?? []) expect(message).not.toContain(part);
  }
  checkAftermath(bench, before, run.expect);
}

function checkSuccess(result: UpgradeResult, wanted: Success): void {
  if (wanted.result) expect(result).toMatchObject(wanted.result);
  const phases = result.phases.map(({ name }) => name);
  // A run's limit (`longestRun`) counts each phase once, and those of a paused boot twice. It counts those of an
  // intermediate release once more for each such release.
  const { hops = 0 } = wanted;
  const repeated = [...new Set(phases.filter((name, index) => phases.indexOf(name) !== index))];
  if (hops === 0) expect(repeated).toEqual(pausePhases.filter((name) => repeated.includes(name)));
  else
    for (const name of phases)
      expect([name, phases.filter((one) => one === name).length]).toEqual([
        name,
        hopPhases.some((one) => one === name) ? hops + 1 : 1,
      ]);
  if (wanted.phases) expect(phases).toEqual(wanted.phases);
  for (const [phase, seconds] of Object.entries(wanted.phaseSeconds ?? {}))
    expect(result.phases.find(({ name }) => name === phase)!.seconds).toBeGreaterThanOrEqual(
      seconds,
    );
}

function checkAftermath(
  { clock, machine, cluster, lines }: Bench,
  before: { now: number; calls: number; kubernetes: number; lines: number },
  wanted: Aftermath,
): void {
  const machineCalls = machine.calls.slice(before.calls);
  const kubernetesCalls = [...new Set(cluster.calls.slice(before.kubernetes))];
  if (wanted.changesNothing) expect([machineCalls, kubernetesCalls]).toEqual([[], []]);
  if (wanted.machineCalls) expect(machineCalls).toEqual(wanted.machineCalls);
  if (wanted.kubernetesCalls) expect(kubernetesCalls).toEqual(wanted.kubernetesCalls);
  if (wanted.machine) expect(machine).toMatchObject(wanted.machine);
  if (wanted.node) expect(cluster.state).toMatchObject(wanted.node);
  if (wanted.imageOnDisk) expect(machine.disk).toContain(wanted.imageOnDisk);

  const logged = lines.slice(before.lines);
  for (const part of wanted.logs ?? []) expect(logged).toContainEqual(containing(part));
  for (const part of wanted.logsOnce ?? [])
    expect(logged.filter((line) => line.includes(part))).toHaveLength(1);
  for (const part of wanted.logsNever ?? []) expect(logged.join("\n")).not.toContain(part);

  if (wanted.minutes) {
    const minutes = (clock.now() - before.now) / 60_000;
    expect(minutes).toBeGreaterThanOrEqual(wanted.minutes.atLeast ?? 0);
    expect(minutes).toBeLessThan(wanted.minutes.lessThan);
  }
}

const containing = (part: Part): unknown =>
  typeof part === "string" ? expect.stringContaining(part) : expect.stringMatching(part);

function arrange({ clock, machine, cluster, bench }: Bench, run: UpgradeRun): void {
  const made = (fields: Partial<FakeMachine>): FakeMachine =>
    assign(new FakeMachine(clock), fields);
  assign(machine, run.machine ?? {});
  if (run.unconfirmedUpgradeTo !== undefined) {
    machine.install(factoryImage(run.unconfirmedUpgradeTo));
    machine.boot();
    // The machine now runs the image that it booted, so only the other fields of the run apply.
    const { talosVersion: _version, schematicId: _schematic, ...others } = run.machine ?? {};
    assign(machine, others);
  }
  for (const { call, problem, times, takesEffect } of run.failingCalls ?? [])
    machine.fail(call, problem, times, takesEffect);
  for (const [address, fields] of Object.entries(run.outsideStack ?? {}))
    machine.network[address] = made(fields);
  const others = Object.entries(run.otherControlPlanes ?? {});
  if (others.length > 0)
    bench.others = new Map(others.map(([address, fields]) => [address, made(fields)]));
  Object.assign(cluster, run.cluster);

  const happen = (event: Event): void => {
    assign(machine, event.machine ?? {});
    machine.boots += event.restarts ?? 0;
    Object.assign(cluster, event.cluster);
    if (event.node) cluster.state = { ...cluster.state!, ...event.node };
    if (event.deletedPod)
      cluster.podList = cluster.podList.filter(({ name }) => name !== event.deletedPod);
  };
  const { events = [] } = run;
  for (const event of events)
    if ("atSecond" in event) clock.after(event.atSecond, () => happen(event));
  machine.afterCall = cluster.afterCall = (call) => {
    for (const event of events) {
      if (!("afterCall" in event) || event.afterCall !== call) continue;
      if (event.seconds === undefined) happen(event);
      else clock.after(event.seconds, () => happen(event));
    }
  };
}

/**
 * Sets fields of a machine, and copies their lists: the machine appends to some of them, and several runs may
 * share one.
 */
function assign(machine: FakeMachine, fields: Partial<FakeMachine>): FakeMachine {
  const own = Object.entries(fields).map(([name, value]) => [
    name,
    Array.isArray(value) ? [...value] : value,
  ]);
  return Object.assign(machine, Object.fromEntries(own));
}
