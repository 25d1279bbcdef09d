import type { Observations } from "../observations";
import type { Rule } from "./rule";
import type { System } from "./system";
import { markerKeeper, waitingPods } from "./validation-markers";

export const operatorValidatorLabel: Rule = { fix: "operatorValidatorLabel", sign: validatorRuns, causes: [] };

/** A validator that never ends, beside files that are kept: without those it is their lack that is to be told. */
function validatorRuns(seen: Observations, system: System): string[] {
  if (system.mode !== "operator" || system.era !== "legacy" || !markerKeeper(seen)) return [];
  // Where the label is in force, a validator is one that is just being taken away.
  const allowed = (seen.nodes ?? [])
    .filter(({ labels }) => labels["nvidia.com/gpu.deploy.operator-validator"] !== "false")
    .map(({ name }) => name);
  const pods = (seen.pods ?? []).filter(
    ({ name, node }) => name.includes("operator-validator") && node !== undefined && allowed.includes(node),
  );
  return waitingPods({ ...seen, pods }, system.namespace);
}
