import type { PlanBasis } from "../plan";
import type { MachineFacts } from "../facts/machine-facts";
import type { ClusterSpec, WorkloadsSpec } from "../stack/spec/index";
import type { Finding, MachineRecipe } from "../types";
import type { UserPatch } from "../machine/user-patches";

/** What a check may look at: the stack, and the plan as far as it could be made. */
export interface CheckContext extends PlanBasis {
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

/** One rule of the domain. */
export interface Check {
  /** Name, e.g. `driver-branches`. */
  id: string;
  /** Where the rule stands: repository and file, documentation or issue. */
  source: string;
  find(context: CheckContext): Complaint[];
}

/** Lays out a plan for the checks. */
export function checkContext(basis: PlanBasis): CheckContext {
  const machines = basis.plan.machines.map((recipe, index): CheckedMachine => {
    const facts = basis.facts[index];
    if (!facts) throw new Error(`no facts of ${recipe.name}`);
    return { ...facts, field: `machines.${recipe.name}`, recipe, patches: basis.machinePatches.get(recipe.name) ?? [] };
  });
  return { ...basis, spec: basis.plan.spec, machines, gpuMachines: machines.filter((machine) => machine.gpuCount > 0) };
}

/** All patches of users: the cluster's, then each machine's, with the machines that they reach. */
export function allPatches(context: CheckContext): { patch: UserPatch; machines: CheckedMachine[] }[] {
  return [
    ...context.clusterPatches.map((patch) => ({ patch, machines: context.machines })),
    ...context.machines.flatMap((machine) => machine.patches.map((patch) => ({ patch, machines: [machine] }))),
  ];
}

/** A workload that requests GPUs, whatever its kind. */
export interface GpuRequest {
  /** Path in the stack, e.g. `workloads.ollama`. */
  field: string;
  gpus: number;
  active: boolean;
  image?: string;
  /** Profile of the MIG devices that it requests. */
  migProfile?: string;
  /** Labels of the machines that it may run on. Default: any machine. */
  nodeSelector?: Record<string, string>;
}

/** What a workload says of the GPUs that it requests. */
type Said = Partial<Omit<GpuRequest, "field">>;

/** What requests GPUs, by workload: by the name below it, if it has several. A workload that is missing here does not compile. */
const requestsOf: { [W in keyof WorkloadsSpec]-?: (said: NonNullable<WorkloadsSpec[W]>) => Record<string, Said> } = {
  ollama: (said) => ({ "": said }),
  comfyui: (said) => ({ "": said }),
  vllm: (said) => ({ "": said }),
  litellm: () => ({}), // it routes requests, and computes nothing
  pods: (said) => said,
};

/** What requests GPUs in a stack. */
export function gpuRequests({ workloads = {} }: ClusterSpec): GpuRequest[] {
  return (Object.keys(requestsOf) as (keyof WorkloadsSpec)[]).flatMap((workload) => {
    const said = workloads[workload];
    if (said === undefined) return [];
    const requests = (requestsOf[workload] as (said: unknown) => Record<string, Said>)(said);
    return Object.entries(requests).map(([name, app]): GpuRequest => ({
      field: `workloads.${workload}${name === "" ? "" : `.${name}`}`,
      gpus: app.gpus ?? 1,
      active: app.active ?? true,
      ...(app.image === undefined ? {} : { image: app.image }),
      ...(app.migProfile === undefined ? {} : { migProfile: app.migProfile }),
      ...(app.nodeSelector === undefined ? {} : { nodeSelector: app.nodeSelector }),
    }));
  });
}
