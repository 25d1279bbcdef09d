import type { Observations } from "../observations";
import { type Evidence, matching } from "../evidence";
import type { Rule } from "./rule";
import type { System } from "./system";

/** The device plugin says that it does not know its strategy. */
export const deviceListStrategy: Rule = { fix: "deviceListStrategy", sign: strategyRefused, causes: [] };

function strategyRefused(seen: Observations, system: System): Evidence[] {
  return matching(seen, /invalid (--device-list-strategy option|strategy)/, system.namespace);
}
