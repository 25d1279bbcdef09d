import * as z from "zod";
import * as rules from "../../rules";
import { taintEffects } from "../../machine/taints";
import {
  count,
  image,
  labels,
  namespace,
  objectName,
  quantity,
  ruled,
  tell,
  text,
} from "../notation";
import { GpuArchitecture, type GpuRequestSpec, type WorkloadsSpec } from "../../spec/index";

/** A kind of workload, by its field in a stack. */
export type KindOfWorkload = Exclude<keyof WorkloadsSpec, "named">;

/** Fields of a workload about the GPUs that it requests. */
export interface SaidOfGpus extends GpuRequestSpec {
  /** Default true. */
  active?: boolean;
  /** Pods that request them, each on a machine of its own. Default 1. */
  machines?: number;
  image?: string;
}

/** Everything about a kind of workload that is not its Kubernetes objects. The rest of the package follows from it. */
export interface WorkloadDescriptor<Spec> {
  /** Shape in a stack. */
  readonly schema: z.ZodType;
  /** Shape of its component's arguments, without those that may be yet to come. */
  readonly argumentsSchema: z.ZodType;
  /**
   * A stack that has only the arguments of its component, so that the checks of a stack apply to them, and their
   * field in it.
   */
  asStack(said: Record<string, unknown>): { workloads: WorkloadsSpec; field: string };
  /** Requests for GPUs, by their names below the workload's field; `""` is the workload itself. */
  gpuRequests(said: Spec): Record<string, SaidOfGpus>;
  /**
   * The namespace that it makes; undefined if it uses an existing one.
   *
   * @param name of the server; of pods nothing.
   */
  namespaceMade(said: Spec, name: string): string | undefined;
  /**
   * Name of its Deployment, its Service and, unless the stack names another, its namespace, where it is not one by
   * name; and its port. Absent: it is no server.
   */
  readonly server?: { readonly name: string; readonly port: number };
  /** Content of its volume, which is also a part of the volume's name: `models`. Absent: it has no volume. */
  readonly keeps?: string;
}

/** Name of a server's volume, e.g. `ollama-models`. */
export const volumeName = (server: string, keeps: string): string => `${server}-${keeps}`;

/**
 * Checks a descriptor against what a stack may say of its workload; keeps its own type, so that those of its schemas
 * stay known.
 */
export const describeWorkload = <
  W extends KindOfWorkload,
  D extends WorkloadDescriptor<NonNullable<WorkloadsSpec[W]>>,
>(
  _workload: W,
  descriptor: D,
): D => descriptor;

/** A workload that stands in a stack under its own name. */
export const underItsName =
  (workload: KindOfWorkload, beside: WorkloadsSpec = {}) =>
  (said: Record<string, unknown>): { workloads: WorkloadsSpec; field: string } => ({
    workloads: { ...beside, [workload]: said },
    field: `workloads.${workload}`,
  });

/** A key of an existing Secret. */
export const secretKey = z.strictObject({ name: objectName, key: ruled(rules.dataKey) });

/** Profile of MIG devices. */
export const migProfile = ruled(rules.migProfile);

/** Conditions of a claim for a card. */
export const claim = z.strictObject({
  memory: quantity.optional(),
  architecture: z.enum(GpuArchitecture).optional(),
  product: text.optional(),
  cel: z.array(text).optional(),
  resourceClaimName: objectName.optional(),
  resourceClaimTemplateName: objectName.optional(),
});

/** Fields of every server that computes on a GPU. */
export const gpuServer = {
  active: z.boolean().optional(),
  image: image.optional(),
  storage: quantity.optional(),
  storageClass: objectName.optional(),
  gpus: count.optional(),
  migProfile: migProfile.optional(),
  claim: claim.optional(),
  nodeSelector: labels.optional(),
  namespace: namespace.optional(),
  allowFrom: z.array(namespace).optional(),
};

const tolerations = z.array(
  z.strictObject({
    key: ruled(rules.qualifiedName),
    operator: z.enum(["Exists", "Equal"]),
    value: z
      .string()
      .superRefine((value, context) => tell(context, rules.labelValue(value)))
      .optional(),
    effect: z.enum(taintEffects).optional(),
  }),
);

/**
 * Arguments of every component of a workload that a cluster fills in. Pulumi and Kubernetes wait for whole seconds,
 * and a week is long enough.
 */
export const ofCluster = {
  tolerations: tolerations.optional(),
  readyWithin: z.number().int().min(1).max(604_800).optional(),
};

/** Further arguments of a component with GPUs, without its inputs. */
export const gpuAccess = { ...ofCluster, exposure: text.optional() };

/** Further arguments of a server with GPUs. */
export const serverAccess = { ...gpuAccess, serverName: objectName.optional() };

/** `12.8`: CUDA as the driver says it. */
export const cudaVersion = ruled(
  rules.ruleOf((version) => /^\d{1,2}\.\d{1,2}$/.test(version), {
    problem: "is not a CUDA release",
    why: "the image is chosen by it",
    remedy: "write what the head of `nvidia-smi` says, e.g. `12.8`",
  }),
);
