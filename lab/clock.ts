import type { TimeoutsSpec } from "../components/recipe/spec";

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

/** Seconds that the real parts (API server, scheduler, Helm, engine) may need beside the machines' scaled time. */
const realPartsSeconds = 45;

/**
 * A stack's limits on the lab's clock: the machines' share shrinks with the time scale, the real parts' share does not.
 * A failure then shows within seconds instead of minutes.
 *
 * @param timeScale lab seconds per second
 */
export function labTimeouts(timeScale: number): Record<keyof TimeoutsSpec, string> {
  const limits = Object.entries(usualMinutes).map(([name, minutes]) => [
    name,
    `${Math.ceil((minutes * 60) / timeScale) + realPartsSeconds}s`,
  ]);
  return Object.fromEntries(limits) as Record<keyof TimeoutsSpec, string>;
}
