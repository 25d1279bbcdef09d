import { upgradePhases } from "../../../components/recipe/effect";

/**
 * Phases that do not occur in the upgrade of an adopted machine that has a card and is already in its cluster. Before
 * its own case the cluster has no admission webhooks.
 */
const absentPhases: readonly string[] = [
  "join",
  "images",
  "apply",
  "kubernetes",
  "health",
  "webhooks",
  "addons",
];

/** Phases at which the program is killed. */
export const killedPhases = upgradePhases.filter((phase) => !absentPhases.includes(phase));
