/** What each phase does to the machine, in order. */
const phases = {
  reach: "looks",
  join: "looks",
  compare: "looks",
  precheck: "looks",
  apply: "changes",
  pull: "looks",
  drain: "changes",
  reboot: "changes",
  verify: "changes",
  uncordon: "changes",
} as const satisfies Record<string, "looks" | "changes">;

/** A phase of an upgrade. */
export type UpgradePhase = keyof typeof phases;

/** Phases of an upgrade, in order, by the word that begins their line of progress. Each is one at which it may be killed. */
export const upgradePhases = Object.keys(phases) as UpgradePhase[];

/** Whether nothing has been done to the machine in this phase, nor in those before it that a run comes through. */
export function isUntouched(phase: UpgradePhase): boolean {
  return phases[phase] === "looks";
}
