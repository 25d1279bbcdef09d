import type { Observations } from "../observations";
import type { Rule } from "./rule";
import type { System } from "./system";
import { markerKeeper, waitingPods } from "./validation-markers";

export const operatorValidatorLabel: Rule = { fix: "operatorValidatorLabel", sign: validatorRuns, causes: [] };

/** A validator that never ends, beside files that are kept: without those it is their lack that is to be told. */
function validatorRuns(seen: Observations, system: System): string[] {
  if (system.mode !== "operator" || system.era !== "legacy" || !markerKeeper(seen)) return [];
  return waitingPods(seen, system.namespace).filter((line) => /operator-validator/.test(line));
}
