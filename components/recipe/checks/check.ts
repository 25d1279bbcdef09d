import { flat, type Nested } from "../nested";
import type { PlanBasis } from "../plan";
import { asRelease } from "../outside/external";
import type { MachineFacts } from "../facts/machine-facts";
import type { ClusterSpec } from "../spec/index";
import type { Fault } from "../rules";
import type { Finding, MachineRecipe } from "../types";
import type { UserPatch } from "../machine/user-patches";

/** What a check may look at: the stack, and the plan as far as it could be made. */
export interface CheckContext extends PlanBasis {
  /** With `external` it is as if the stack installed that itself (`gpuOperator` or `devicePlugin`); as it was said, it is in the plan. */
  spec: ClusterSpec;
  /** Machines with what was found out about them, in upgrade order. */
  machines: CheckedMachine[];
  /** Those with a GPU. */
  gpuMachines: CheckedMachine[];
}

/** A machine as the checks see it. */
export interface CheckedMachine extends MachineFacts {
  /** Path of the machine in the stack, e.g. `machines.gpu-1`. */
  field: string;
  recipe: MachineRecipe;
  patches: UserPatch[];
}

/** What a check says; its name is put on by `checkCluster`. */
export type Complaint = Omit<Finding, "check">;

/** What a check finds. */
export type Found = Nested<Complaint>;

/** One rule of the domain. */
export interface Check {
  /** Name, e.g. `driver-branches`. */
  id: string;
  /** Where the rule stands: repository and file, documentation or issue. */
  source: string;
  find(context: CheckContext): Found;
}

/** Lays out a plan for the checks. */
export function checkContext(basis: PlanBasis): CheckContext {
  const machines = basis.plan.machines.map((recipe, index): CheckedMachine => ({
    ...basis.facts[index]!,
    field: `machines.${recipe.name}`,
    recipe,
    patches: basis.machinePatches[index]!,
  }));
  return {
    ...basis,
    spec: asRelease(basis.plan.spec),
    machines,
    gpuMachines: machines.filter((machine) => machine.gpuCount > 0),
  };
}

/** All patches of users: the cluster's, then each machine's, with the machines that they reach. */
export function allPatches(context: CheckContext): { patch: UserPatch; machines: CheckedMachine[] }[] {
  return [
    ...context.clusterPatches.map((patch) => ({ patch, machines: context.machines })),
    ...context.machines.flatMap((machine) => machine.patches.map((patch) => ({ patch, machines: [machine] }))),
  ];
}

/** What is wrong with users' patches, each told under the patch's own field. */
export const faultsOfPatches = (
  context: CheckContext,
  faultsOf: (one: { patch: UserPatch; machines: CheckedMachine[] }) => Nested<Fault>,
): Found =>
  allPatches(context).map((one) => flat(faultsOf(one)).map((fault) => ({ field: one.patch.field, ...fault })));
