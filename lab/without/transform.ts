import type { Plan } from "../../components/recipe";
import type { MachineRecipe } from "../../components/recipe/types";

/** Makes a plan wrong in one way: it changes the plan that it is given, which is a copy. */
export type Transform = (plan: Plan) => void;

/** Changes every machine of a plan. */
export function eachMachine(change: (machine: MachineRecipe) => void): Transform {
  return ({ machines }) => machines.forEach(change);
}

/** Takes a label away from every node. */
export function withoutLabel(key: string): Transform {
  return eachMachine(({ nodeLabels }) => void delete nodeLabels[key]);
}
