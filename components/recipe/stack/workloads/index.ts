import * as z from "zod";
import { defined } from "../../mapping";
import * as rules from "../../rules";
import { groupName, servedNames } from "../../facts/vllm";
import type { ClusterSpec, NamedServerSpec, VllmSpec, WorkloadsSpec } from "../../spec/index";
import { addFinding } from "../notation";
import { comfyui } from "./comfyui";
import {
  type KindOfWorkload,
  type GpuFields,
  volumeName,
  type WorkloadDescriptor,
} from "./descriptor";
import { litellm } from "./litellm";
import { ollama } from "./ollama";
import { pods } from "./pods";
import { vllm } from "./vllm";

/** All kinds of workloads. The table does not compile if a kind in WorkloadsSpec is missing. */
export const workloadDescriptors = { ollama, comfyui, litellm, vllm, pods } satisfies {
  [W in KindOfWorkload]-?: WorkloadDescriptor<NonNullable<WorkloadsSpec[W]>>;
};

/** Name of a kind of workload: its field in a stack. */
export type WorkloadKind = keyof typeof workloadDescriptors;

const kinds = Object.keys(workloadDescriptors) as WorkloadKind[];

/**
 * Name of a kind of server with GPUs. A stack may have several servers of a kind, each with its own name under `named`.
 */
type NamedKind = keyof NamedServerSpec;

/** Schemas of the servers with GPUs, by kind. The table does not compile if a kind in NamedServerSpec is missing. */
const namedSchemas = {
  ollama: ollama.schema.optional(),
  comfyui: comfyui.schema.optional(),
  vllm: vllm.schema.optional(),
} satisfies { [W in NamedKind]-?: z.ZodType<unknown> };

const namedKinds = Object.keys(namedSchemas) as NamedKind[];

/**
 * For each kind of server, a function that lists the server's language models, to which LiteLLM can route requests;
 * undefined for a kind without language models.
 */
const modelsOf = {
  ollama: ({ models = [] }) => models,
  comfyui: undefined,
  vllm: servedNames,
} satisfies {
  [W in NamedKind]-?: ((spec: NonNullable<NamedServerSpec[W]>) => string[]) | undefined;
};

/**
 * A Service's name is an RFC 1035 label of at most 63 characters (kubernetes, pkg/apis/core/validation,
 * ValidateServiceName). The server's name has at most 51 characters, because the volume's name is the server's name
 * with a suffix.
 */
const serverName = rules.ruleOf(
  (name) => /^[a-z](?:[-a-z0-9]{0,49}[a-z0-9])?$/.test(name) && !(kinds as string[]).includes(name),
  {
    problem: "is not a valid name for a server under `named`",
    why: "the Deployment and the Service get this name, and names such as ollama belong to the servers outside of `named`",
    remedy:
      "write lower-case letters, digits and `-`, and begin with a letter, e.g. `ollama-small`",
  },
);

const named = z
  .record(
    z.string(),
    z.strictObject(namedSchemas).superRefine((server, context) => {
      const statedKinds = namedKinds.filter((kind) => server[kind] !== undefined);
      if (statedKinds.length === 1) return;
      const problem =
        statedKinds.length === 0 ? "sets no server" : `sets ${statedKinds.join(" and ")}`;
      addFinding(context, {
        problem,
        why: "each name must have exactly one server",
        remedy: `write one of ${namedKinds.join(", ")}`,
      });
    }),
  )
  .superRefine((servers, context) => {
    for (const name of Object.keys(servers)) addFinding(context, serverName(name), name);
  });

type Shape = { [W in WorkloadKind]: z.ZodOptional<(typeof workloadDescriptors)[W]["schema"]> } & {
  named: z.ZodOptional<typeof named>;
};

/** Schema of a stack's workloads. */
export const workloadsSchema = z.strictObject({
  ...Object.fromEntries(kinds.map((kind) => [kind, workloadDescriptors[kind].schema.optional()])),
  named: named.optional(),
} as unknown as Shape);

/** A workload of a stack, of any kind. */
export interface Workload<W extends WorkloadKind = WorkloadKind> {
  kind: W;
  /** Path in the stack, e.g. `workloads.ollama` or `workloads.named.small.ollama`. */
  field: string;
  /**
   * The kind, or a server's name under `named`. The name of the workload's Pulumi resource is `<cluster>-<key>`. For a
   * server, it is also the key in the output `endpoints`.
   */
  key: string;
  /** Name of the workload's Deployment and Service; empty for pods, which have neither. */
  name: string;
  spec: NonNullable<WorkloadsSpec[W]>;
}

/** All workloads of a stack: first those outside of `named`, at most one of each kind, then those under `named`. */
export function workloadsOf({ workloads = {} }: Pick<ClusterSpec, "workloads">): Workload[] {
  const plain = kinds.flatMap((kind): Workload[] => {
    const [spec, { server }] = [
      workloads[kind],
      workloadDescriptors[kind] as WorkloadDescriptor<never>,
    ];
    return spec === undefined
      ? []
      : [{ kind, field: `workloads.${kind}`, key: kind, name: server?.name ?? "", spec }];
  });
  const byName = Object.entries(workloads.named ?? {}).flatMap(([name, server]) =>
    namedKinds.flatMap((kind): Workload[] => {
      const spec = server[kind];
      return spec === undefined
        ? []
        : [{ kind, field: `workloads.named.${name}.${kind}`, key: name, name, spec }];
    }),
  );
  return [...plain, ...byName];
}

/** The workloads of one kind. */
export const workloadsOfKind = <W extends WorkloadKind>(
  spec: Pick<ClusterSpec, "workloads">,
  kind: W,
): Workload<W>[] =>
  workloadsOf(spec).filter((workload): workload is Workload<W> => workload.kind === kind);

/**
 * Other namespaces whose pods may reach a server; undefined if every pod may reach it. For a server of language models,
 * the result includes the namespace of the stack's LiteLLM.
 */
export function allowedNamespaces(
  spec: Pick<ClusterSpec, "workloads">,
  kind: WorkloadKind,
  { allowFrom }: { allowFrom?: string[] },
): string[] | undefined {
  const proxies = modelsOf[kind as NamedKind] === undefined ? [] : workloadsOfKind(spec, "litellm");
  const ofProxies = proxies.map(({ name, spec: proxy }) => proxy.namespace ?? name);
  return allowFrom && [...new Set([...allowFrom, ...ofProxies])];
}

/** A running server of language models, and its models. */
export interface LanguageServer extends Pick<
  Workload<LanguageServerKind>,
  "kind" | "field" | "key" | "spec"
> {
  models: string[];
}

type LanguageServerKind = {
  [W in NamedKind]: (typeof modelsOf)[W] extends undefined ? never : W;
}[NamedKind];

/** Servers of language models that run (`active`), in the order of their kinds. LiteLLM can route requests to them. */
export const languageServers = (spec: Pick<ClusterSpec, "workloads">): LanguageServer[] =>
  namedKinds.flatMap((kind) =>
    workloadsOfKind(spec, kind).flatMap((server) => {
      const models = modelsOf[kind] as ((serverSpec: unknown) => string[]) | undefined;
      if (models === undefined || server.spec.active === false) return [];
      return { ...(server as Workload<LanguageServerKind>), models: models(server.spec) };
    }),
  );

/** A workload of any kind that requests GPUs, with its path in the stack, e.g. `workloads.ollama`. */
export type GpuRequest = GpuFields &
  Required<Pick<GpuFields, "gpus" | "active" | "machines">> & {
    kind: WorkloadKind;
    field: string;
  };

/** All requests for GPUs in a stack. */
export const gpuRequests = (spec: Pick<ClusterSpec, "workloads">): GpuRequest[] =>
  workloadsOf(spec).flatMap(({ kind, field, spec: workloadSpec }) => {
    const requests = (
      workloadDescriptors[kind].gpuRequests as (workloadSpec: unknown) => Record<string, GpuFields>
    )(workloadSpec);
    return Object.entries(requests).map(([name, request]) => {
      const {
        gpus = 1,
        active = true,
        machines = 1,
        image,
        migProfile,
        claim,
        nodeSelector,
      } = request;
      return {
        kind,
        field: `${field}${name === "" ? "" : `.${name}`}`,
        gpus,
        active,
        machines,
        ...defined({ image, migProfile, claim, nodeSelector }),
      };
    });
  });

/** A server of a stack: a Deployment (or the LeaderWorkerSet in `group`) and a Service. */
export interface PlannedServer {
  /** Path in the stack, e.g. `workloads.vllm`. */
  field: string;
  name: string;
  namespace: string;
  active: boolean;
  /** LeaderWorkerSet that runs the server instead of a Deployment. Absent for a server on one machine. */
  group?: { name: string; machines: number };
}

/** Fields that all servers have. */
type ServerFields = Pick<VllmSpec, "active" | "machines" | "namespace" | "storageClass">;

/** The servers of a stack. */
export const plannedServers = (spec: Pick<ClusterSpec, "workloads">): PlannedServer[] =>
  workloadsOf(spec).flatMap(({ field, name, spec: workloadSpec }) => {
    const { namespace = name, active = true, machines = 1 } = workloadSpec as ServerFields;
    const group = machines > 1 ? { group: { name: groupName(name), machines } } : {};
    return name === "" ? [] : [{ field, name, namespace, active, ...group }];
  });

/** A volume of a stack. */
export interface PlannedVolume {
  /** Path of the volume's workload in the stack, e.g. `workloads.ollama`. */
  field: string;
  /** Name of the volume's Pulumi resource, without the cluster's name before it, e.g. `ollama-models`. */
  resource: string;
  name: string;
  namespace: string;
  /** StorageClass; absent for the cluster's default. */
  storageClass?: string;
}

/**
 * The volumes that a stack creates itself. The list lacks the volumes of a server over several machines, because the
 * server's LeaderWorkerSet creates them.
 */
export const plannedVolumes = (spec: Pick<ClusterSpec, "workloads">): PlannedVolume[] =>
  workloadsOf(spec).flatMap(({ kind, field, key, name, spec: workloadSpec }) => {
    const { volumeSuffix }: WorkloadDescriptor<never> = workloadDescriptors[kind];
    const { namespace = name, storageClass, machines = 1 } = workloadSpec as ServerFields;
    if (volumeSuffix === undefined || machines > 1) return [];
    const volume = {
      field,
      resource: `${key}-${volumeSuffix}`,
      name: volumeName(name, volumeSuffix),
      namespace,
    };
    return [{ ...volume, ...defined({ storageClass }) }];
  });

/** The namespaces that a stack's workloads create, each with its workload. */
export const namespacesMade = (
  spec: Pick<ClusterSpec, "workloads">,
): { workload: Workload; namespace: string }[] =>
  workloadsOf(spec).flatMap((workload) => {
    const descriptor = workloadDescriptors[workload.kind] as WorkloadDescriptor<unknown>;
    const namespace = descriptor.namespaceMade(workload.spec, workload.name);
    return namespace === undefined ? [] : [{ workload, namespace }];
  });
