import { upgradePhases } from "../../../components/recipe/effect";

/** Phases that an upgrade of a machine with a card, which is in its cluster already, does not come to. */
const others: readonly string[] = ["join", "apply"];

/** Phases at which the program is killed. */
export const killedPhases = upgradePhases.filter((phase) => !others.includes(phase));
