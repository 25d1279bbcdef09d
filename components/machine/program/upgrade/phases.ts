/** Phases of an upgrade, in order, by the word that begins their line of progress. Each is one at which it may be killed. */
export const upgradePhases = [
  "reach",
  "join",
  "compare",
  "precheck",
  "apply",
  "pull",
  "drain",
  "reboot",
  "verify",
  "uncordon",
] as const;
/** A phase of an upgrade. */
export type UpgradePhase = (typeof upgradePhases)[number];
