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
   * The stack. Instead of `external` it has the field `gpuOperator`, `devicePlugin` or `dra`, as if the stack itself
   * installed the external release. `plan.spec` has the stack as the user wrote it.
   */
  spec: ClusterSpec;
  /** Machines with their known facts, in upgrade order. */
  machines: CheckedMachine[];
  /** The machines with a GPU, in upgrade order. */
  gpuMachines: CheckedMachine[];
  /**
   * Findings about an external release for the next Talos version that injects cards in another way. Undefined if the
   * stack has no external release, if the tables know no such version, or if the caller does not ask for these
   * findings.
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

/** Findings about an external release for the next Talos version that injects cards in another way. */
export interface Ahead {
  /** Minor of that Talos version, e.g. 15 for Talos 1.15. */
  minor: number;
  findings: Finding[];
}

/** Findings of a check; `checkCluster` adds the check's name. */
export type Found = Nested<FieldFinding>;

/** Finds violations of a rule. Each finding says what is wrong, why it matters, and how to fix it. */
export type Find = (context: CheckContext) => Found;

/** One rule for stacks, and the function that finds its violations. */
export interface Check {
  /** Severity of the findings. Default: `refused`. */
  severity?: Severity;
  /** The rule: a sentence that is true of a stack without findings. SARIF shows it. */
  rule: string;
  /** Source of the rule: repository and file, documentation or issue. */
  source: string;
  /**
   * Whether the check applies to a file that belongs to no stack (`talos-gpu check`). For such a file, another tool
   * sets the machine's containerd configuration, labels, kernel modules and image. The command invents the other
   * fields of a stack. So a rule that only stacks must obey would refuse correct files.
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
 * Finds violations in each item of a list, such as each machine. If a finding's field is empty or begins with a dot,
 * the item's path is put before it.
 */
const findPerThing =
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
export const findPerMachine = findPerThing(({ machines }) => machines);

/** Finds violations in each machine with a GPU. */
export const findPerGpuMachine = findPerThing(({ gpuMachines }) => gpuMachines);

/** Finds violations in each workload that requests GPUs. */
export const findPerGpuRequest = findPerThing(({ spec }) => gpuRequests(spec));

/** Joins several functions into one that returns all their findings. */
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
export const findPerPatch =
  (find: (reaching: ReachingPatch, context: CheckContext) => Nested<FindingText>): Find =>
  (context) =>
    allPatches(context).map((reaching) =>
      flat(find(reaching, context)).map((finding) => ({ field: reaching.patch.field, ...finding })),
    );
