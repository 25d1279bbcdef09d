/** Limits of an upgrade that a stack may set, in milliseconds. */
export type UpgradeLimits = Record<"pull" | "drain" | "reboot" | "verify", number>;

/** A phase of an upgrade, by what it does to the machine. */
interface PhaseOfUpgrade {
  /** Milliseconds that it takes at most. */
  most: (limits: UpgradeLimits) => number;
  /** It changes something. From then on a run continues to its end, even if nothing waits for it. */
  changes?: true;
  /** No pod can run on the machine meanwhile. */
  away?: true;
  /** A machine that goes over several minors goes through it once for each. */
  eachHop?: true;
  /** A machine whose boot is paused goes through it once more, before all else. */
  leavesPause?: true;
}

/** Milliseconds for questions that a machine answers at once, and is asked again where it does not (`patiently`). */
const QUESTIONS = 300_000;

const phases = {
  reach: { most: ({ reboot }) => reboot, leavesPause: true },
  join: { most: ({ reboot }) => reboot },
  compare: { most: ({ verify }) => QUESTIONS + verify, leavesPause: true, eachHop: true },
  precheck: {
    most: ({ verify }) => Math.max(QUESTIONS, verify),
    leavesPause: true,
    eachHop: true,
  },
  apply: { most: () => QUESTIONS, changes: true },
  pull: { most: ({ pull }) => pull, eachHop: true },
  drain: {
    most: ({ drain }) => drain,
    changes: true,
    away: true,
    eachHop: true,
    leavesPause: true,
  },
  reboot: {
    most: ({ reboot }) => reboot,
    changes: true,
    away: true,
    eachHop: true,
    leavesPause: true,
  },
  verify: { most: ({ verify }) => verify, changes: true, away: true, eachHop: true },
  uncordon: { most: ({ verify }) => verify, changes: true, away: true },
} as const satisfies Record<string, PhaseOfUpgrade>;

/** A phase of an upgrade. */
export type UpgradePhase = keyof typeof phases;

/**
 * Phases of an upgrade, in order, by the word that begins their line of progress. Each is one at which it may be
 * killed.
 */
export const upgradePhases = Object.keys(phases) as UpgradePhase[];

const phase = (name: UpgradePhase): PhaseOfUpgrade => phases[name];

/** Phases by which a paused boot is ended. */
export const pausePhases = upgradePhases.filter((name) => phase(name).leavesPause);

/** Phases of each hop of a machine that goes over several minors. */
export const hopPhases = upgradePhases.filter((name) => phase(name).eachHop);

/** Whether something is changed in the phase. */
export const changesSomething = (name: UpgradePhase): boolean => phase(name).changes === true;

const sum = (names: UpgradePhase[], limits: UpgradeLimits): number =>
  names.reduce((total, name) => total + phase(name).most(limits), 0);

/**
 * Milliseconds that a run takes at most.
 *
 * @param hops releases that the machine may run on its way.
 */
export const longestRun = (limits: UpgradeLimits, hops = 0): number =>
  sum([...upgradePhases, ...pausePhases], limits) + hops * sum(hopPhases, limits);

/** Milliseconds for which no pod can run on a machine that is up when the run begins. */
export const longestAway = (limits: UpgradeLimits, drains: boolean): number =>
  sum(
    upgradePhases.filter((name) => phase(name).away && (drains || name !== "drain")),
    limits,
  );
