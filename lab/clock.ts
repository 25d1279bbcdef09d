import type { TimeoutsSpec } from "../components/recipe/spec/index";

/**
 * Lab seconds per second where nobody says how many: what is real takes the time that it takes, and a processor that is emulated for a
 * virtual machine twice what a stack's limits are made for.
 */
export const usualTimeScale = { emulated: 80, node: 60, real: 0.5 };

/** Limits that a stack has when it says nothing, in minutes; the documentation of `TimeoutsSpec` says the same. */
const usualMinutes: Record<keyof TimeoutsSpec, number> = {
  pull: 10,
  drain: 5,
  reboot: 30,
  verify: 5,
  release: 10,
  gate: 10,
  workload: 20,
};

/**
 * Seconds that real parts may need beside the machines' scaled time: talosctl and the machine program, and more where the
 * API server, the scheduler, Helm and several pods take part. Those of a reboot must end well before an emulated machine
 * gives up booting (`bootTimeout` of lab/machines) and goes back to its old image: a look at it would then find another cause.
 */
const realPartsSeconds: Record<keyof TimeoutsSpec, number> = {
  pull: 25,
  drain: 25,
  reboot: 15,
  verify: 25,
  release: 45,
  gate: 45,
  workload: 45,
};

/**
 * The same where a fix is left out, and the update is to fail: what has come by then was all that could. Should the cluster not
 * show its trouble yet, the lab looks again until it does.
 */
const whereAFixIsLeftOut: Partial<typeof realPartsSeconds> = { gate: 12, workload: 12 };

/**
 * The same, more, where a node is real: its containers really start, on a computer that has other work. A reboot's limit still ends
 * before the machine gives up booting.
 */
const moreWhereANodeIsReal: Record<keyof TimeoutsSpec, number> = {
  pull: 0,
  drain: 30,
  reboot: 20,
  verify: 30,
  release: 60,
  gate: 60,
  workload: 60,
};

/** What a lab's limits depend on. */
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
export function labTimeouts({ timeScale, machines, leftOut = false }: LabLimits): Record<keyof TimeoutsSpec, string> {
  const names = Object.keys(usualMinutes) as (keyof TimeoutsSpec)[];
  const realParts = leftOut ? { ...realPartsSeconds, ...whereAFixIsLeftOut } : realPartsSeconds;
  const more = (name: keyof TimeoutsSpec): number => (machines !== "emulated" ? moreWhereANodeIsReal[name] : 0);
  const limits = names.map((name) => [
    name,
    `${Math.ceil((usualMinutes[name] * 60) / timeScale) + realParts[name] + more(name)}s`,
  ]);
  return Object.fromEntries(limits) as Record<keyof TimeoutsSpec, string>;
}
