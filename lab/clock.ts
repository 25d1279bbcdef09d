import type { TimeoutsSpec } from "../components/recipe/spec/index";

/**
 * Lab seconds per second by default: real parts need their real time. An emulated processor of a virtual machine
 * needs twice what a stack's limits allow.
 */
export const usualTimeScale = { emulated: 80, node: 60, real: 0.5 };

/** The work that a stack's limit covers. */
interface Allowance {
  /** The stack's default in minutes, as documented at `TimeoutsSpec`. */
  readonly minutes: number;
  /**
   * Seconds that real parts may need in addition to the machines' scaled time: talosctl and the machine program, and
   * more where the API server, the scheduler, Helm and several pods take part.
   */
  readonly seconds: number;
  /** Additional seconds for a real node, whose containers really start, on a computer with other work. */
  readonly ofNode: number;
  /**
   * `seconds` if a fix is left out and the update must fail: by then everything is up that can be. If the cluster does
   * not show its failure yet, the lab repeats the diagnosis until it does.
   */
  readonly leftOut?: number;
}

const allowances: Record<keyof TimeoutsSpec, Allowance> = {
  pull: { minutes: 10, seconds: 25, ofNode: 0 },
  drain: { minutes: 5, seconds: 25, ofNode: 30 },
  // It ends well before an emulated machine gives up booting (`bootTimeout` of lab/machines) and goes back to its old
  // image: a diagnosis would then find a different cause.
  reboot: { minutes: 30, seconds: 15, ofNode: 20 },
  verify: { minutes: 5, seconds: 25, ofNode: 30 },
  // The controller of LeaderWorkerSet is a real program with a webhook: together with other labs it was not ready
  // within 53 s.
  release: { minutes: 10, seconds: 90, ofNode: 60 },
  gate: { minutes: 10, seconds: 45, ofNode: 60, leftOut: 12 },
  workload: { minutes: 20, seconds: 45, ofNode: 60, leftOut: 12 },
};

/** Facts that a lab's limits depend on. */
export interface LabLimits {
  /** Lab seconds per second. */
  timeScale: number;
  machines: keyof typeof usualTimeScale;
  /** Whether a fix is left out. Default: none is. */
  leftOut?: boolean;
}

/**
 * A stack's limits on the lab's clock: the machines' share shrinks with the time scale, the real parts' share does not.
 * A failure then shows within seconds instead of minutes.
 */
export function labTimeouts({
  timeScale,
  machines,
  leftOut,
}: LabLimits): Record<keyof TimeoutsSpec, string> {
  const limits = Object.entries(allowances).map(([name, allowed]) => {
    const real = (leftOut ? allowed.leftOut : undefined) ?? allowed.seconds;
    const more = machines === "emulated" ? 0 : allowed.ofNode;
    return [name, `${Math.ceil((allowed.minutes * 60) / timeScale) + real + more}s`];
  });
  return Object.fromEntries(limits) as Record<keyof TimeoutsSpec, string>;
}
