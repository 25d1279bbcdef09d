import * as z from "zod";
import type { ClusterSpec, WorkloadsSpec } from "../../spec/index";
import { comfyui } from "./comfyui";
import { type SaidOfGpus, volumeName, type WorkloadDescriptor } from "./descriptor";
import { litellm } from "./litellm";
import { ollama } from "./ollama";
import { pods } from "./pods";
import { vllm } from "./vllm";

/** Every kind of workload. One of WorkloadsSpec that is missing here does not compile. */
export const workloadDescriptors = { ollama, comfyui, litellm, vllm, pods } satisfies {
  [W in keyof WorkloadsSpec]-?: WorkloadDescriptor<NonNullable<WorkloadsSpec[W]>>;
};

/** A kind of workload, by its field in a stack. */
export type WorkloadKind = keyof typeof workloadDescriptors;

const kinds = Object.keys(workloadDescriptors) as WorkloadKind[];

type Shape = { [W in WorkloadKind]: z.ZodOptional<(typeof workloadDescriptors)[W]["schema"]> };

/** Shape of a stack's workloads. */
export const workloadsSchema = z.strictObject(
  Object.fromEntries(kinds.map((kind) => [kind, workloadDescriptors[kind].schema.optional()])) as unknown as Shape,
);

/** A workload that requests GPUs, whatever its kind. */
export interface GpuRequest extends SaidOfGpus {
  /** Path in the stack, e.g. `workloads.ollama`. */
  field: string;
  gpus: number;
  active: boolean;
}

/** What requests GPUs in a stack. */
export function gpuRequests({ workloads = {} }: Pick<ClusterSpec, "workloads">): GpuRequest[] {
  return kinds.flatMap((kind) => {
    const said = workloads[kind];
    if (said === undefined) return [];
    const requests = (workloadDescriptors[kind].gpuRequests as (said: unknown) => Record<string, SaidOfGpus>)(said);
    return Object.entries(requests).map(([name, { gpus = 1, active = true, image, migProfile, nodeSelector }]) => ({
      field: `workloads.${kind}${name === "" ? "" : `.${name}`}`,
      gpus,
      active,
      ...(image === undefined ? {} : { image }),
      ...(migProfile === undefined ? {} : { migProfile }),
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    }));
  });
}

/** A server of a stack: a Deployment and a Service of one name. */
export interface PlannedServer {
  name: string;
  namespace: string;
  /** Whether it runs. */
  active: boolean;
}

/** The servers of a stack. */
export function plannedServers({ workloads = {} }: Pick<ClusterSpec, "workloads">): PlannedServer[] {
  return kinds.flatMap((kind) => {
    const said = workloads[kind] as { active?: boolean; namespace?: string } | undefined;
    const { server }: WorkloadDescriptor<never> = workloadDescriptors[kind];
    if (said === undefined || server === undefined) return [];
    return [{ name: server.name, namespace: said.namespace ?? server.name, active: said.active ?? true }];
  });
}

/** A volume of a stack. */
export interface PlannedVolume {
  /** Path of its workload in the stack, e.g. `workloads.ollama`. */
  field: string;
  /** Its resource, below the cluster's name, e.g. `ollama-models`. */
  resource: string;
  name: string;
  namespace: string;
  /** Absent: the cluster's. */
  storageClass?: string;
}

/** The volumes of a stack. */
export function plannedVolumes({ workloads = {} }: Pick<ClusterSpec, "workloads">): PlannedVolume[] {
  return kinds.flatMap((kind) => {
    const said = workloads[kind] as { namespace?: string; storageClass?: string } | undefined;
    const { server, keeps }: WorkloadDescriptor<never> = workloadDescriptors[kind];
    if (said === undefined || server === undefined || keeps === undefined) return [];
    const { namespace = server.name, storageClass } = said;
    return [
      {
        field: `workloads.${kind}`,
        resource: `${kind}-${keeps}`,
        name: volumeName({ server, keeps }),
        namespace,
        ...(storageClass === undefined ? {} : { storageClass }),
      },
    ];
  });
}

/** The namespaces that a stack's workloads make, each with the workload that makes it. */
export function namespacesMade(workloads: WorkloadsSpec = {}): { kind: WorkloadKind; namespace: string }[] {
  return kinds.flatMap((kind) => {
    const said = workloads[kind];
    const descriptor = workloadDescriptors[kind] as WorkloadDescriptor<unknown>;
    const namespace = said && descriptor.namespaceMade(said);
    return namespace === undefined ? [] : [{ kind, namespace }];
  });
}
