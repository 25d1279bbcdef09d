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
  addFinding,
  text,
} from "../notation";
import { GpuArchitecture, type GpuRequestSpec, type WorkloadsSpec } from "../../spec/index";

/** Name of a kind of workload: its field in a stack. */
export type KindOfWorkload = Exclude<keyof WorkloadsSpec, "named">;

/** A workload's request for GPUs. */
export interface GpuFields extends GpuRequestSpec {
  /** Whether the workload runs. Default true. */
  active?: boolean;
  /** Number of the workload's pods. Each pod requests `gpus` GPUs and runs on a different machine. Default 1. */
  machines?: number;
  image?: string;
}

/** Everything about a kind of workload except its Kubernetes objects. */
export interface WorkloadDescriptor<Spec> {
  /** Schema of the workload's field in a stack. */
  readonly schema: z.ZodType;
  /** Schema of the component's arguments, without arguments that may be Outputs. */
  readonly argumentsSchema: z.ZodType;
  /**
   * The `workloads` of a stack that has only this component's arguments, so that the checks of a stack also apply to
   * the arguments. `field` is the path of the arguments in that stack.
   */
  asStack(spec: Record<string, unknown>): { workloads: WorkloadsSpec; field: string };
  /**
   * The workload's requests for GPUs. The key is the path below the workload's field, e.g. the name of a pod under
   * `pods`; `""` if the workload itself is the request.
   */
  gpuRequests(spec: Spec): Record<string, GpuFields>;
  /**
   * The namespace that the workload creates; undefined if the workload uses an existing namespace.
   *
   * @param name the server's name; empty for pods.
   */
  namespaceMade(spec: Spec, name: string): string | undefined;
  /**
   * Default name of the server's Deployment, Service and namespace, and its port. Absent if the workload is not a
   * server.
   */
  readonly server?: { readonly name: string; readonly port: number };
  /**
   * End of the volume's name, which says what the volume contains, e.g. `models`. Absent if the workload has no volume.
   */
  readonly volumeSuffix?: string;
}

/** Name of a server's volume, e.g. `ollama-models`. */
export const volumeName = (server: string, volume: string): string => `${server}-${volume}`;

/**
 * Returns the descriptor unchanged. The compiler checks that the descriptor fits the workload's fields, and keeps the
 * exact types of its schemas.
 */
export const describeWorkload = <
  W extends KindOfWorkload,
  D extends WorkloadDescriptor<NonNullable<WorkloadsSpec[W]>>,
>(
  _workload: W,
  descriptor: D,
): D => descriptor;

/** Makes an `asStack` that puts the arguments under `workloads.<kind>`, next to `otherWorkloads`. */
export const underOwnKey =
  (workload: KindOfWorkload, otherWorkloads: WorkloadsSpec = {}) =>
  (spec: Record<string, unknown>): { workloads: WorkloadsSpec; field: string } => ({
    workloads: { ...otherWorkloads, [workload]: spec },
    field: `workloads.${workload}`,
  });

/** A key of an existing Secret. */
export const secretKey = z.strictObject({ name: objectName, key: ruled(rules.dataKey) });

/** Profile of MIG devices. */
export const migProfile = ruled(rules.migProfile);

/** Schema of `claim`: conditions for the claimed cards. */
export const claim = z.strictObject({
  memory: quantity.optional(),
  architecture: z.enum(GpuArchitecture).optional(),
  product: text.optional(),
  cel: z.array(text).optional(),
  resourceClaimName: objectName.optional(),
  resourceClaimTemplateName: objectName.optional(),
});

/** Schemas of the fields of every server that computes on a GPU. */
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
      .superRefine((value, context) => addFinding(context, rules.labelValue(value)))
      .optional(),
    effect: z.enum(taintEffects).optional(),
  }),
);

/**
 * Schemas of the arguments that every workload component has, and that a GpuCluster fills in. `readyWithin` is in whole
 * seconds, and at most a week.
 */
export const ofCluster = {
  tolerations: tolerations.optional(),
  readyWithin: z.number().int().min(1).max(604_800).optional(),
};

/**
 * Schemas of the arguments that a GpuCluster fills in for a component with GPUs, without arguments that may be Outputs.
 */
export const gpuAccess = { ...ofCluster, exposure: text.optional() };

/**
 * Schemas of the arguments that a GpuCluster fills in for a server with GPUs, without arguments that may be Outputs.
 */
export const serverAccess = { ...gpuAccess, serverName: objectName.optional() };

/** Schema of a CUDA release in the driver's notation, e.g. `12.8`. */
export const cudaVersion = ruled(
  rules.ruleOf((version) => /^\d{1,2}\.\d{1,2}$/.test(version), {
    problem: "is not a CUDA release",
    why: "the component chooses the image by this release",
    remedy: "write the CUDA version from the header of `nvidia-smi`, e.g. `12.8`",
  }),
);
