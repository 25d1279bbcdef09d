import type { TimeoutsSpec } from "../components/recipe/spec/index";

/**
 * Default of lab seconds per second. Real programs need real time, so it is lower for them. A virtual machine on an
 * emulated processor needs twice the time that a stack's limits allow.
 */
export const usualTimeScale = { emulated: 80, node: 60, real: 0.5 };

/** Time that the lab allows for the work behind one of a stack's limits. */
interface Allowance {
  /** The stack's default in minutes, as documented at `TimeoutsSpec`. */
  readonly minutes: number;
  /**
   * Seconds for real programs, in addition to the machines' scaled time: talosctl and the machine program. More if the
   * API server, the scheduler, Helm and several pods take part.
   */
  readonly seconds: number;
  /** Additional seconds for a real node, which starts real containers, on a busy computer. */
  readonly nodeSeconds: number;
  /**
   * Seconds instead of `seconds` if a fix is left out and the update must fail. All working parts are up by then. The
   * lab repeats the diagnosis until the cluster shows its failure.
   */
  readonly leftOutSeconds?: number;
}

const allowances: Record<keyof TimeoutsSpec, Allowance> = {
  pull: { minutes: 10, seconds: 25, nodeSeconds: 0 },
  drain: { minutes: 5, seconds: 25, nodeSeconds: 30 },
  // This limit must end before an emulated machine gives up booting (`bootTimeout` of lab/machines) and returns to its
  // old image: the diagnosis would then find a different cause.
  reboot: { minutes: 30, seconds: 15, nodeSeconds: 20 },
  verify: { minutes: 5, seconds: 25, nodeSeconds: 30 },
  // The controller of LeaderWorkerSet is a real program with a webhook. Next to other labs it once needed more than 53
  // s.
  release: { minutes: 10, seconds: 90, nodeSeconds: 60 },
  gate: { minutes: 10, seconds: 45, nodeSeconds: 60, leftOutSeconds: 12 },
  workload: { minutes: 20, seconds: 45, nodeSeconds: 60, leftOutSeconds: 12 },
};

/** Facts from which a lab's limits follow. */
export interface LabLimits {
  /** Lab seconds per second. */
  timeScale: number;
  machines: keyof typeof usualTimeScale;
  /** Whether a fix is left out. Default: no. */
  leftOut?: boolean;
}

/**
 * A stack's limits on the lab's clock. The machines' share is divided by the time scale; the real programs' share is
 * not. So a failure shows within seconds instead of minutes.
 */
export function labTimeouts({
  timeScale,
  machines,
  leftOut,
}: LabLimits): Record<keyof TimeoutsSpec, string> {
  const limits = Object.entries(allowances).map(([name, allowance]) => {
    const programSeconds = (leftOut ? allowance.leftOutSeconds : undefined) ?? allowance.seconds;
    const extraSeconds = machines === "emulated" ? 0 : allowance.nodeSeconds;
    return [
      name,
      `${Math.ceil((allowance.minutes * 60) / timeScale) + programSeconds + extraSeconds}s`,
    ];
  });
  return Object.fromEntries(limits) as Record<keyof TimeoutsSpec, string>;
}
