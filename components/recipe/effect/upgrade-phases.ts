/** Limits of an upgrade that a stack may set, in milliseconds. */
export type UpgradeLimits = Record<"pull" | "drain" | "reboot" | "verify", number>;

/** Properties of a phase of an upgrade. */
interface PhaseOfUpgrade {
  /** Longest duration in milliseconds. */
  timeLimit: (limits: UpgradeLimits) => number;
  /**
   * Whether the phase changes the machine. From such a phase on, a run continues to its end, even if Pulumi no longer
   * waits for it.
   */
  changes?: true;
  /** Whether no pod can run on the machine during the phase. */
  away?: true;
  /** Whether an upgrade over several minors repeats the phase for each minor. */
  eachHop?: true;
  /** Whether the program also runs the phase before all other phases, to end a boot that Talos has paused. */
  leavesPause?: true;
}

/** Time limit in milliseconds for requests that a machine usually answers at once, including retries (`patiently`). */
const QUESTIONS = 300_000;

/**
 * Least time limit in milliseconds for the waits until Kubernetes' components, and then its addons, run in their new
 * release. Ten minutes suffice, because the components restart together; `talosctl upgrade-k8s` waits 5 minutes for
 * each component (talos v1.13.0 pkg/cluster/kubernetes/upgrade.go, checkPodStatus), and 5 minutes for all manifests
 * (upgrade-k8s.go).
 */
const KUBERNETES = 600_000;

/**
 * Time in milliseconds for which a machine must stay healthy after a change without a reboot: a fifth of the limit
 * `verify`, by default one minute. In a minute the kubelet notices a changed static pod (`httpCheckFrequency`: 20
 * seconds), restarts it, and Talos reads its status (every 15 seconds: talos v1.13.9
 * internal/app/machined/pkg/controllers/k8s/kubelet_static_pod.go).
 */
export const steadyTime = ({ verify }: UpgradeLimits): number => verify / 5;

const phases = {
  reach: { timeLimit: ({ reboot }) => reboot, leavesPause: true },
  join: { timeLimit: ({ reboot }) => reboot },
  compare: { timeLimit: ({ verify }) => QUESTIONS + verify, leavesPause: true, eachHop: true },
  precheck: {
    timeLimit: ({ verify }) => Math.max(QUESTIONS, verify),
    leavesPause: true,
    eachHop: true,
  },
  images: { timeLimit: ({ pull }) => pull },
  apply: { timeLimit: () => QUESTIONS, changes: true },
  pull: { timeLimit: ({ pull }) => pull, eachHop: true },
  drain: {
    timeLimit: ({ drain }) => drain,
    changes: true,
    away: true,
    eachHop: true,
    leavesPause: true,
  },
  reboot: {
    timeLimit: ({ reboot }) => reboot,
    changes: true,
    away: true,
    eachHop: true,
    leavesPause: true,
  },
  verify: { timeLimit: ({ verify }) => verify, changes: true, away: true, eachHop: true },
  uncordon: { timeLimit: ({ verify }) => verify, changes: true, away: true },
  kubernetes: { timeLimit: ({ verify }) => Math.max(KUBERNETES, verify) },
  health: { timeLimit: (limits) => limits.verify + steadyTime(limits) },
  webhooks: { timeLimit: ({ verify }) => verify },
  addons: { timeLimit: ({ verify }) => Math.max(KUBERNETES, verify) },
} as const satisfies Record<string, PhaseOfUpgrade>;

/** Name of a phase of an upgrade. */
export type UpgradePhase = keyof typeof phases;

/**
 * Phases of an upgrade, in order. Each name is the first word of the phase's progress lines. A run may be killed in any
 * phase.
 */
export const upgradePhases = Object.keys(phases) as UpgradePhase[];

const phase = (name: UpgradePhase): PhaseOfUpgrade => phases[name];

/** Phases that the program runs to end a boot that Talos has paused. */
export const pausePhases = upgradePhases.filter((name) => phase(name).leavesPause);

/** Phases that the program repeats for each minor of an upgrade over several minors. */
export const hopPhases = upgradePhases.filter((name) => phase(name).eachHop);

/** Whether a phase changes the machine. */
export const changesSomething = (name: UpgradePhase): boolean => phase(name).changes === true;

/** Longest duration of a phase in milliseconds. */
export const limitOf = (name: UpgradePhase, limits: UpgradeLimits): number =>
  phase(name).timeLimit(limits);

const sum = (names: UpgradePhase[], limits: UpgradeLimits): number =>
  names.reduce((total, name) => total + limitOf(name, limits), 0);

/**
 * Longest duration of a run in milliseconds.
 *
 * @param hops greatest number of intermediate releases.
 */
export const longestRun = (limits: UpgradeLimits, hops = 0): number =>
  sum([...upgradePhases, ...pausePhases], limits) + hops * sum(hopPhases, limits);

/** Longest time in milliseconds without pods on a machine that is up when the run begins. */
export const longestAway = (limits: UpgradeLimits, drains: boolean): number =>
  sum(
    upgradePhases.filter((name) => phase(name).away && (drains || name !== "drain")),
    limits,
  );
