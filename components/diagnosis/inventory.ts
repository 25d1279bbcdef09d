import { findCard } from "../recipe/facts/card";
import type { Observations, ObservedMachine, ObservedNode } from "./observations";
import type { System } from "./system";

/** Cards of the cluster, a line for each machine: `gpu-1: RTX 3060, driver 595.71.05, 4 × nvidia.com/gpu`. */
export function inventoryOf(
  { gpuMachines, plan }: System,
  { nodes = [], machines = [] }: Observations,
): string[] {
  return gpuMachines.flatMap(({ name }) => {
    const node = nodes.find((candidate) => candidate.name === name);
    const machine = machines.find((candidate) => candidate.name === name);
    const parts = [
      ...cardsOf(
        plan?.spec.machines[name]?.gpus?.map(({ model }) => model),
        node,
        machine,
      ),
      ...(machine?.driverVersion ? [`driver ${machine.driverVersion}`] : []),
      ...unitsOf(node),
    ];
    return parts.length === 0 ? [] : [`${name}: ${parts.join(", ")}`];
  });
}

/** Models of a machine's cards: those that the cluster reports, else those that the stack names. */
function cardsOf(
  planned: string[] | undefined,
  node?: ObservedNode,
  machine?: ObservedMachine,
): string[] {
  const labelledModels = (node?.cards ?? []).map(
    ({ product }) => findCard(product)?.model ?? product,
  );
  const modelsById = (machine?.cardIds ?? []).flatMap((id) => findCard(id)?.model ?? []);
  const names = [labelledModels, modelsById, planned ?? []].find((list) => list.length > 0) ?? [];
  const modelCounts = [...new Set(names)].map((model) => ({
    model,
    count: modelsById.filter((modelOfId) => modelOfId === model).length,
  }));
  return modelCounts.map(({ model, count }) => (count > 1 ? `${count} × ${model}` : model));
}

const unitsOf = ({ allocatable = {} }: Partial<ObservedNode> = {}): string[] =>
  Object.entries(allocatable)
    .filter(([resource, count]) => /nvidia\.com/.test(resource) && count !== "0")
    .map(([resource, count]) => `${count} × ${resource}`);
