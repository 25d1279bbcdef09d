import { plannedMachines } from "../machine/planned-machine";
import type { Plan } from "../types";
import { effectOf, type MachineEffect } from "./effect";
import { machineState, type MachineState } from "./state";

/** The states of a plan's machines, by node name. */
export function machineStates(plan: Plan): Record<string, MachineState> {
  return Object.fromEntries(plannedMachines(plan).map((machine) => [machine.name, machineState(machine)]));
}

/**
 * What an update from one plan to another does to every machine of either, by node name, in the order of the update.
 *
 * @param before undefined when nothing is known of before.
 */
export function effectsOf(before: Plan | undefined, after: Plan): Record<string, MachineEffect> {
  const was = before === undefined ? {} : machineStates(before);
  const is = machineStates(after);
  const names = [...Object.keys(is), ...Object.keys(was).filter((name) => !Object.hasOwn(is, name))];
  return Object.fromEntries(names.map((name) => [name, effectOf(was[name], is[name])]));
}
