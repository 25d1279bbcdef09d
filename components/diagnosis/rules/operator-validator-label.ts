import type { Observations } from "../observations";
import type { Rule } from "./rule";
import type { System } from "./system";
import { markerKeeper, waitingPods } from "./validation-markers";

/** The operator's validator runs where it must not, or does not where it must. */
export const operatorValidatorLabel: Rule = { fix: "operatorValidatorLabel", sign: validatorAmiss, causes: [] };

const label = "nvidia.com/gpu.deploy.operator-validator";

function validatorAmiss(seen: Observations, system: System): string[] {
  if (system.mode !== "operator") return [];
  if (system.era === "legacy") return validatorRuns(seen, system);
  return system.era === "cdi" ? validatorKeptAway(seen, system) : [];
}

/** From Talos 1.13 on nobody else writes the files: a label of the days of 1.12 has the operands wait for good. */
function validatorKeptAway(seen: Observations, { namespace }: System): string[] {
  const labelled = (seen.nodes ?? []).filter(({ labels }) => labels[label] === "false").map(({ name }) => name);
  const pods = (seen.pods ?? []).filter(({ node }) => node !== undefined && labelled.includes(node));
  const waiting = waitingPods({ ...seen, pods }, namespace);
  return waiting.length === 0 ? [] : [`Node/${labelled.join(", ")}: labelled ${label}=false`, ...waiting];
}

/** A validator that never ends, beside files that are kept: without those it is their lack that is to be told. */
function validatorRuns(seen: Observations, system: System): string[] {
  if (!markerKeeper(seen)) return [];
  // Where the label is in force, a validator is one that is just being taken away.
  const allowed = (seen.nodes ?? []).filter(({ labels }) => labels[label] !== "false").map(({ name }) => name);
  const pods = (seen.pods ?? []).filter(
    ({ name, node }) => name.includes("operator-validator") && node !== undefined && allowed.includes(node),
  );
  return waitingPods({ ...seen, pods }, system.namespace);
}
