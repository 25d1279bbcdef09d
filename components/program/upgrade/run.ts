import {
  changesSomething,
  type UpgradeLimits,
  type UpgradePhase,
} from "../../recipe/effect/upgrade-phases";
import { formatDuration } from "../../recipe/rules/duration";
import { waitOrFail, type Clock, type Wait } from "../../clients/clock";
import type { FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import type { Cluster } from "../cluster/cluster";
import { Phases, type Report } from "../progress";
import { BootGuard } from "../seen/boot-guard";
import type { Releases } from "../seen/way";
import { limitsOf, type UpgradeTask } from "../task";

/** The cluster, as far as an upgrade looks at it and drains. */
export type NodeCluster = Pick<
  Cluster,
  | "nodes"
  | "node"
  | "isAlone"
  | "cordon"
  | "uncordon"
  | "unmark"
  | "pods"
  | "evict"
  | "attachedVolumes"
>;

/** Inputs and clients of the upgrade. */
export interface Workbench {
  machine: Machine;
  /** The other control planes of the stack by address. */
  others: Map<string, Machine>;
  /** Kubernetes; undefined without credentials. */
  cluster: NodeCluster | undefined;
  /** Version of talosctl. */
  clientVersion: string;
  clock: Clock;
  report: Report;
  /**
   * Releases that the Image Factory lists, asked where a machine goes over several minors. Default: those that the
   * tables know.
   */
  releases?: Releases;
  /**
   * Told before the machine or its node is changed: from then on the run is brought to its end. Default: nothing is
   * called.
   */
  touches?: () => void;
  /** Gives the node its taints; asked before it takes pods again. Default: it has none to get. */
  taint?: () => Promise<unknown>;
}

/** One run of the upgrade program on one machine. Each of its phases looks at the machine first. */
export interface Run extends Workbench {
  task: UpgradeTask;
  /** Milliseconds. */
  limits: UpgradeLimits;
  /** Milliseconds between two looks. */
  poll: number;
  /** Ends the wait for a boot that cannot end. */
  guard: BootGuard;
  /**
   * Whether an image of the user's own, which the configuration in force may name already, was not installed or may
   * have been taken back.
   */
  lacksOwnImage?: boolean;
  phases: Phases<UpgradePhase>;
}

/** A run that begins. */
export function runOf(task: UpgradeTask, bench: Workbench): Run {
  const { machine, clock, report } = bench;
  return {
    ...bench,
    task,
    limits: limitsOf(task.timeouts),
    poll: task.pollSeconds * 1_000,
    guard: new BootGuard(machine, {
      name: task.machine,
      remedy: `correct that part of the machine's configuration, or the stack's part of it (\`talosctl -n ${task.address} edit machineconfig\` ends the pause by a reboot)`,
      report,
    }),
    phases: new Phases(clock, report, (phase) => changesSomething(phase) && bench.touches?.()),
  };
}

/** A phase that waits at most so many milliseconds: its line says for what. */
export const waitIn = <T>(
  { phases, clock, poll }: Run,
  phase: UpgradePhase,
  limit: number,
  forWhat: string,
  look: Wait<T>["look"],
  late: (within: string) => FieldFinding,
): Promise<T> =>
  phases.run(phase, `waiting ${upTo(limit)} for ${forWhat}`, () =>
    waitOrFail(clock, { limit, poll, look }, late),
  );

/**
 * Milliseconds that a machine gets to answer at the start, unless it is seen to be on its way up from an earlier run.
 */
const REACH_LIMIT = 300_000;

/** Milliseconds in which a machine that is up answers. */
export const patienceOf = ({ limits }: Run): number => Math.min(REACH_LIMIT, limits.reboot);

/** Asks again while the machine does not answer: one dropped connection must not end an upgrade. */
export function patiently<T>(run: Run, ask: () => Promise<T>): Promise<T> {
  const { clock, poll, task } = run;
  const limit = patienceOf(run);
  return waitOrFail(
    clock,
    { limit, poll, look: async () => ({ done: await ask() }) },
    (within) => ({
      field: `machines.${task.machine}`,
      problem: `it stopped answering: no answer ${within}`,
      why: "its state is not known, and its node stays cordoned if it was drained",
      remedy: `look at its console and \`talosctl -n ${task.address} dmesg\`, then run again: the program goes on from what it finds`,
    }),
  );
}

/** `up to 5m`. */
export const upTo = (limit: number): string => `up to ${formatDuration(limit)}`;
