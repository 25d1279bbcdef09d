import { flat, type Nested } from "../mapping";
import type { PlanBasis } from "../plan";
import { asRelease } from "../external/external";
import type { MachineFacts } from "../facts/machine-facts";
import type { ClusterSpec } from "../spec/index";
import type { FieldFinding, FindingText, Severity } from "../rules";
import type { Finding, MachineRecipe } from "../types";
import type { UserPatch } from "../machine/user-patches";
import { gpuRequests } from "../stack/workloads";

/** Inputs of a check: the stack and its plan. */
export interface CheckContext extends PlanBasis {
  /**
   * The stack. An external release appears as if the stack itself installed it (`gpuOperator`, `devicePlugin` or
   * `dra`). Only the plan has `external` as it was written.
   */
  spec: ClusterSpec;
  /** Machines with the facts that are known about them, in upgrade order. */
  machines: CheckedMachine[];
  /** The machines with a GPU, in upgrade order. */
  gpuMachines: CheckedMachine[];
  /**
   * Findings that the stack would have with Talos of the next era. Undefined without an external release, without a
   * next era, or if the caller does not look ahead.
   */
  ahead: () => Ahead | undefined;
}

/** A machine with its facts, for the checks. */
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

/** Finds violations of a rule. Each finding says what is wrong, why it matters, and how to fix it. */
export type Find = (context: CheckContext) => Found;

/** One rule of the domain, with the findings for a stack that breaks it. */
export interface Check {
  /** Severity of its findings. Default: they refuse the stack. */
  severity?: Severity;
  /** The rule: a sentence that is true of a stack without findings. SARIF shows it. */
  rule: string;
  /** Source of the rule: repository and file, documentation or issue. */
  source: string;
  /**
   * Whether the check applies to a file that belongs to no stack (`talos-gpu check`). Another tool then sets the
   * machine's containerd part, labels, modules and image, and `check` invents the other fields of a stack. A rule that
   * is only about stacks would refuse correct files.
   */
  ofFiles: boolean;
  find: Find;
}

/** Rules by name, e.g. `driver-branches`. */
export type Checks = Record<string, Check>;

/** The inputs of the checks for a plan. */
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
 * Finds violations in each of several things. If the field of a finding begins with a dot, it is a field of the thing.
 * If it is empty, it is the thing itself.
 */
const forEachOf =
  <Thing extends { field: string }>(things: (context: CheckContext) => Thing[]) =>
  (find: (thing: Thing, context: CheckContext) => Found): Find =>
  (context) =>
    things(context).map((thing) =>
      flat(find(thing, context)).map(({ field, ...rest }) => ({
        field: field === "" || field.startsWith(".") ? `${thing.field}${field}` : field,
        ...rest,
      })),
    );

/** Finds violations in each machine. */
export const forEachMachine = forEachOf(({ machines }) => machines);

/** Finds violations in each machine with a GPU. */
export const forEachGpuMachine = forEachOf(({ gpuMachines }) => gpuMachines);

/** Finds violations in each workload that requests GPUs. */
export const forEachGpuRequest = forEachOf(({ spec }) => gpuRequests(spec));

/** Joins several rules into one. */
export const combine =
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

/** Finds violations in each patch of a user. Each finding names the field of the patch. */
export const forEachPatch =
  (find: (reaching: ReachingPatch, context: CheckContext) => Nested<FindingText>): Find =>
  (context) =>
    allPatches(context).map((reaching) =>
      flat(find(reaching, context)).map((finding) => ({ field: reaching.patch.field, ...finding })),
    );
