import { flat, type Nested, valueAt } from "../mapping";
import type { PlanBasis } from "../plan";
import { asRelease } from "../outside/external";
import type { MachineFacts } from "../facts/machine-facts";
import type { ClusterSpec } from "../spec/index";
import { type Fault, faultOf, type Problem } from "../rules";
import type { MachineRecipe } from "../types";
import type { UserPatch } from "../machine/user-patches";
import { gpuRequests } from "../stack/workloads";
import data from "./checks.json";

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

/** What a check finds; its name is put on by `checkCluster`. */
export type Found = Nested<Problem>;

/** One rule of the domain. The table `checks.json` tells the rule, and where it stands: repository and file, documentation or issue. */
export type Check = (context: CheckContext) => Found;

/** Rules by name, e.g. `driver-branches`. */
export type Checks = Record<string, Check>;

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

/** A rule about each of several things. A field that begins with a dot is one of the thing. */
const ofEach =
  <Thing extends { field: string }>(things: (context: CheckContext) => Thing[]) =>
  (find: (thing: Thing, context: CheckContext) => Found): Check =>
  (context) =>
    things(context).map((thing) =>
      flat(find(thing, context)).map(({ field, ...rest }) => ({
        field: field.startsWith(".") ? `${thing.field}${field}` : field,
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
  (...rules: Check[]): Check =>
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
  ...context.machines.flatMap((machine) => machine.patches.map((patch) => ({ patch, machines: [machine] }))),
];

/** A rule about each patch of a user; what is wrong is told under the patch's own field. */
export const ofPatches =
  (find: (one: ReachingPatch, context: CheckContext) => Nested<Fault>): Check =>
  (context) =>
    allPatches(context).map((one) => flat(find(one, context)).map((fault) => ({ field: one.patch.field, ...fault })));

/**
 * Each check's rule, where the rule stands, and what it says. `ofFiles`: it may judge a file of somebody's, too, beside which no stack stands
 * (`talos-gpu check`). A rule of stacks alone judges what is right in such a file, as the stack's part of it is somebody else's there (who writes
 * containerd's part, labels, modules and image), or what `check` made up for it.
 */
type Data = typeof data;

/** Whether a check may judge a file beside which no stack stands; what is no check of the table may. */
export const isOfFiles = (check: string): boolean =>
  (data as Partial<Record<string, { ofFiles: boolean }>>)[check]?.ofFiles ?? true;

/** A check, or one of the things that it says, e.g. `power-limit/outside`. */
type Saying = {
  [Check in keyof Data]: Data[Check] extends { says: infer Says }
    ? Says extends string
      ? Check
      : `${Check}/${keyof Says & string}`
    : never;
}[keyof Data];

/** What is wrong, as the table says it. */
export function fault(saying: Saying, things?: Record<string, unknown>): Fault {
  const [check, ...one] = saying.split("/");
  return faultOf(valueAt(data, check!, "says", ...one) as string, things);
}

/** The same of a field. */
export const complaint = (field: string, saying: Saying, things?: Record<string, unknown>): Problem => ({
  field,
  ...fault(saying, things),
});
