import {
  changesSomething,
  type UpgradeLimits,
  type UpgradePhase,
} from "../../recipe/effect/upgrade-phases";
import { formatDuration } from "../../recipe/rules/duration";
import { waitOrFail, type Clock, type Wait } from "../../clients/clock";
import type { FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import type { RunningImage } from "../../recipe/machine/losses";
import type { Cluster } from "../cluster/cluster";
import type { WebhooksBefore } from "../cluster/webhooks";
import { Phases, type Report } from "../progress";
import { BootGuard } from "../seen/boot-guard";
import type { Releases } from "../seen/way";
import { limitsOf, type UpgradeTask } from "../task";

/** The calls to a cluster that an upgrade needs. */
export type NodeCluster = Pick<
  Cluster,
  | "nodes"
  | "node"
  | "isAlone"
  | "cordon"
  | "uncordon"
  | "removeAnnotation"
  | "pods"
  | "evict"
  | "attachedVolumes"
  | "read"
  | "apply"
  | "webhookServices"
  | "reportedPods"
>;

/** Inputs and clients of the upgrade. */
export interface UpgradeContext {
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
   * Lists the Image Factory's releases, for an upgrade over several minor releases. Default: the releases in this
   * package's tables.
   */
  releases?: Releases;
  /**
   * Asks the next image's Image Factory whether the machine can start and hold this image: whether the firmware has the
   * key of its signer, and whether the boot partition has room. The preflight asks this too, but not for machines that
   * did not answer, nor in a stack that makes its cluster. Default: the Factory is not asked.
   *
   * @param release Talos release that the machine runs.
   */
  askFactory?: (next: UpgradeTask, image: RunningImage, release: string) => Promise<FieldFinding[]>;
  /**
   * Called before the machine or its node changes: from then on the program finishes the run. Default: nothing is
   * called.
   */
  touches?: () => void;
  /** Sets the node's taints; called before the node is uncordoned. Default: the node gets no taints. */
  taint?: () => Promise<unknown>;
}

/** One run of the upgrade program on one machine. Each of its phases first checks the machine. */
export interface Run extends UpgradeContext {
  task: UpgradeTask;
  /** Whether the stack installs the machine, and no update of the machine has succeeded yet. Default false. */
  isNew?: boolean;
  /** Time limits of the waits, in milliseconds. */
  limits: UpgradeLimits;
  /** Milliseconds between two checks. */
  poll: number;
  /** Ends the program's wait for a boot that cannot end. */
  guard: BootGuard;
  /**
   * True if the active configuration names the user's own image, but the machine may not run it: the image was not
   * installed, or Talos may have rolled back.
   */
  lacksOwnImage?: boolean;
  /** What Kubernetes said about admission webhooks before the reboots; undefined if it was not asked. */
  webhooks?: WebhooksBefore;
  phases: Phases<UpgradePhase>;
}

/** A new run. */
export function runOf(task: UpgradeTask, context: UpgradeContext): Run {
  const { machine, clock, report } = context;
  return {
    ...context,
    task,
    limits: limitsOf(task.timeouts),
    poll: task.pollSeconds * 1_000,
    guard: new BootGuard(machine, {
      name: task.machine,
      remedy: `correct the cause in the stack, or in the machine's configuration with \`talosctl -n ${task.address} edit machineconfig\`, which ends the pause with a reboot`,
      report,
    }),
    phases: new Phases(clock, report, (phase) => changesSomething(phase) && context.touches?.()),
  };
}

/**
 * Runs a phase that waits at most `limit` milliseconds. The phase's progress line says for what it waits (`subject`).
 */
export const waitIn = <T>(
  { phases, clock, poll }: Run,
  phase: UpgradePhase,
  limit: number,
  subject: string,
  look: Wait<T>["look"],
  findingOfLimit: (within: string) => FieldFinding,
): Promise<T> =>
  phases.run(phase, `waiting ${upTo(limit)} for ${subject}`, () =>
    waitOrFail(clock, { limit, poll, look }, findingOfLimit),
  );

/** Time limit in milliseconds for the answer of a machine that no earlier run can have left in a reboot. */
const REACH_LIMIT = 300_000;

/** Milliseconds to wait for the answer of a machine that should be up. */
export const patienceOf = ({ limits }: Run): number => Math.min(REACH_LIMIT, limits.reboot);

/** Repeats a call while the machine does not answer, because one dropped connection must not end an upgrade. */
export function patiently<T>(run: Run, ask: () => Promise<T>): Promise<T> {
  const { clock, poll, task } = run;
  const limit = patienceOf(run);
  return waitOrFail(
    clock,
    { limit, poll, look: async () => ({ done: await ask() }) },
    (limitText) => ({
      field: `machines.${task.machine}`,
      problem: `the machine stopped answering: no answer ${limitText}`,
      why: "its state is unknown. If its node was drained, the node stays cordoned",
      remedy: `look at its console and \`talosctl -n ${task.address} dmesg\`, then run again: the program continues from the state that it finds`,
    }),
  );
}

/** A limit in words, e.g. `up to 5m`. */
export const upTo = (limit: number): string => `up to ${formatDuration(limit)}`;
