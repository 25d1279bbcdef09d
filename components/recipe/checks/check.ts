import { flat, type Nested } from "../mapping";
import type { PlanBasis } from "../plan";
import { asRelease } from "../external/external";
import type { MachineFacts } from "../facts/machine-facts";
import type { ClusterSpec } from "../spec/index";
import type { FieldFinding, FindingText, Severity } from "../rules";
import type { Finding, MachineRecipe } from "../types";
import type { UserPatch } from "../machine/user-patches";
import { gpuRequests } from "../stack/workloads";

/** Inputs of a check: the stack, and the plan as far as it could be made. */
export interface CheckContext extends PlanBasis {
  /**
   * With `external` it is as if the stack installed that itself (`gpuOperator` or `devicePlugin`); the plan has it as
   * it was given.
   */
  spec: ClusterSpec;
  /** Machines with what was found out about them, in upgrade order. */
  machines: CheckedMachine[];
  /** Those with a GPU. */
  gpuMachines: CheckedMachine[];
  /** Undefined if there is nothing to look ahead to. */
  ahead: () => Ahead | undefined;
}

/** A machine as the checks see it. */
export interface CheckedMachine extends MachineFacts {
  /** Path of the machine in the stack, e.g. `machines.gpu-1`. */
  field: string;
  recipe: MachineRecipe;
  patches: UserPatch[];
}

/** Values of an external release that Talos of the next era would refuse. */
export interface Ahead {
  /** First minor release of that era. */
  minor: number;
  findings: Finding[];
}

/** Findings of a check; `checkCluster` adds the check's name. */
export type Found = Nested<FieldFinding>;

/** Finds what breaks a rule, and says it next to the condition: what is wrong, why it matters, how to fix it. */
export type Find = (context: CheckContext) => Found;

/** One rule of the domain, and the messages to a stack that breaks it: a finding. */
export interface Check {
  /** Default: it refuses the stack. */
  severity?: Severity;
  /** The rule: a sentence that is true of a stack without findings. SARIF shows it. */
  rule: string;
  /** Where the rule stands: repository and file, documentation or issue. */
  source: string;
  /**
   * Whether the check applies to a file that belongs to no stack (`talos-gpu check`). The stack's part of such a file
   * is another tool's (who writes containerd's part, labels, modules and image), or made up by `check`. A rule about
   * stacks alone would refuse what is right there.
   */
  ofFiles: boolean;
  find: Find;
}

/** Rules by name, e.g. `driver-branches`. */
export type Checks = Record<string, Check>;

/** Lays out a plan for the checks. */
export function checkContext(basis: PlanBasis, ahead: CheckContext["ahead"]): CheckContext {
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
    ahead,
    gpuMachines: machines.filter((machine) => machine.gpuCount > 0),
  };
}

/**
 * A rule about each of several things. A field that begins with a dot is one of the thing; an empty one is the thing
 * itself.
 */
const ofEach =
  <Thing extends { field: string }>(things: (context: CheckContext) => Thing[]) =>
  (find: (thing: Thing, context: CheckContext) => Found): Find =>
  (context) =>
    things(context).map((thing) =>
      flat(find(thing, context)).map(({ field, ...rest }) => ({
        field: field === "" || field.startsWith(".") ? `${thing.field}${field}` : field,
        ...rest,
      })),
    );

/** A rule about each machine. */
export const ofMachines = ofEach(({ machines }) => machines);

/** A rule about each machine with a GPU. */
export const ofGpuMachines = ofEach(({ gpuMachines }) => gpuMachines);

/** A rule about each workload that requests GPUs. */
export const ofGpuRequests = ofEach(({ spec }) => gpuRequests(spec));

/** Rules that are one. */
export const together =
  (...rules: Find[]): Find =>
  (context) =>
    rules.map((rule) => rule(context));

/** A patch of a user, with the machines that it reaches. */
export interface ReachingPatch {
  patch: UserPatch;
  machines: CheckedMachine[];
}

/** All patches of users: the cluster's, then each machine's. */
export const allPatches = (context: CheckContext): ReachingPatch[] => [
  ...context.clusterPatches.map((patch) => ({ patch, machines: context.machines })),
  ...context.machines.flatMap((machine) =>
    machine.patches.map((patch) => ({ patch, machines: [machine] })),
  ),
];

/** A rule about each patch of a user; a finding names the patch's own field. */
export const ofPatches =
  (find: (one: ReachingPatch, context: CheckContext) => Nested<FindingText>): Find =>
  (context) =>
    allPatches(context).map((one) =>
      flat(find(one, context)).map((fault) => ({ field: one.patch.field, ...fault })),
    );
