import { upgradePhases } from "../../../components/recipe/effect";

/** Phases that do not occur in the upgrade of a machine that has a card and is already in its cluster. */
const others: readonly string[] = ["join", "apply"];

/** Phases at which the program is killed. */
export const killedPhases = upgradePhases.filter((phase) => !others.includes(phase));
