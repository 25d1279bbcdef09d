import * as z from "zod";
import { defined } from "../../mapping";
import * as rules from "../../rules";
import { groupName, servedNames } from "../../facts/vllm";
import type { ClusterSpec, NamedServerSpec, VllmSpec, WorkloadsSpec } from "../../spec/index";
import { tell } from "../notation";
import { comfyui } from "./comfyui";
import {
  type KindOfWorkload,
  type SaidOfGpus,
  volumeName,
  type WorkloadDescriptor,
} from "./descriptor";
import { litellm } from "./litellm";
import { ollama } from "./ollama";
import { pods } from "./pods";
import { vllm } from "./vllm";

/** Every kind of workload. One of WorkloadsSpec that is missing here does not compile. */
export const workloadDescriptors = { ollama, comfyui, litellm, vllm, pods } satisfies {
  [W in KindOfWorkload]-?: WorkloadDescriptor<NonNullable<WorkloadsSpec[W]>>;
};

/** A kind of workload, by its field in a stack. */
export type WorkloadKind = keyof typeof workloadDescriptors;

const kinds = Object.keys(workloadDescriptors) as WorkloadKind[];

/** A kind of server with GPUs. A stack may have several, by name. */
type NamedKind = keyof NamedServerSpec;

/** Their shapes. One of NamedServerSpec that is missing here does not compile. */
const namedSchemas = {
  ollama: ollama.schema.optional(),
  comfyui: comfyui.schema.optional(),
  vllm: vllm.schema.optional(),
} satisfies { [W in NamedKind]-?: z.ZodType<unknown> };

const namedKinds = Object.keys(namedSchemas) as NamedKind[];

/** Language models that a server serves, to which LiteLLM can route requests; undefined where it serves none. */
const modelsOf = {
  ollama: ({ models = [] }) => models,
  comfyui: undefined,
  vllm: servedNames,
} satisfies {
  [W in NamedKind]-?: ((said: NonNullable<NamedServerSpec[W]>) => string[]) | undefined;
};

/**
 * Kubernetes: a Service's name is an RFC 1035 label (pkg/apis/core/validation, ValidateServiceName); a volume's has
 * some letters more.
 */
const serverName = rules.ruleOf(
  (name) => /^[a-z](?:[-a-z0-9]{0,49}[a-z0-9])?$/.test(name) && !(kinds as string[]).includes(name),
  {
    problem: "is not a name for a further server",
    why: "it names the Deployment and the Service, and the names of the kinds are those of the servers not in `named`",
    remedy:
      "begin with a letter, and go on with small letters, digits and `-`, e.g. `ollama-small`",
  },
);

const named = z
  .record(
    z.string(),
    z.strictObject(namedSchemas).superRefine((server, context) => {
      const said = namedKinds.filter((kind) => server[kind] !== undefined);
      if (said.length === 1) return;
      const what = said.length === 0 ? "says no server" : `says ${said.join(" and ")}`;
      tell(context, {
        problem: what,
        why: "each name is one server",
        remedy: `write one of ${namedKinds.join(", ")}`,
      });
    }),
  )
  .superRefine((servers, context) => {
    for (const name of Object.keys(servers)) tell(context, serverName(name), name);
  });

type Shape = { [W in WorkloadKind]: z.ZodOptional<(typeof workloadDescriptors)[W]["schema"]> } & {
  named: z.ZodOptional<typeof named>;
};

/** Shape of a stack's workloads. */
export const workloadsSchema = z.strictObject({
  ...Object.fromEntries(kinds.map((kind) => [kind, workloadDescriptors[kind].schema.optional()])),
  named: named.optional(),
} as unknown as Shape);

/** A workload of a stack, of whatever kind. */
export interface Workload<W extends WorkloadKind = WorkloadKind> {
  kind: W;
  /** Path in the stack, e.g. `workloads.ollama` or `workloads.named.small.ollama`. */
  field: string;
  /** Its resource, below the cluster's name, and its name among the outputs: the kind, or its own name. */
  key: string;
  /** Name of its Deployment and its Service. Pods have none. */
  name: string;
  said: NonNullable<WorkloadsSpec[W]>;
}

/** All workloads of a stack: one of a kind at most, then those by name. */
export function workloadsOf({ workloads = {} }: Pick<ClusterSpec, "workloads">): Workload[] {
  const plain = kinds.flatMap((kind): Workload[] => {
    const [said, { server }] = [
      workloads[kind],
      workloadDescriptors[kind] as WorkloadDescriptor<never>,
    ];
    return said === undefined
      ? []
      : [{ kind, field: `workloads.${kind}`, key: kind, name: server?.name ?? "", said }];
  });
  const byName = Object.entries(workloads.named ?? {}).flatMap(([name, server]) =>
    namedKinds.flatMap((kind): Workload[] => {
      const said = server[kind];
      return said === undefined
        ? []
        : [{ kind, field: `workloads.named.${name}.${kind}`, key: name, name, said }];
    }),
  );
  return [...plain, ...byName];
}

/** Those of one kind. */
export const workloadsOfKind = <W extends WorkloadKind>(
  spec: Pick<ClusterSpec, "workloads">,
  kind: W,
): Workload<W>[] =>
  workloadsOf(spec).filter((workload): workload is Workload<W> => workload.kind === kind);

/**
 * Namespaces whose pods may reach a server, but for its own; undefined where every pod may. LiteLLM of the stack may
 * reach the servers that it stands in front of.
 */
export function allowedNamespaces(
  spec: Pick<ClusterSpec, "workloads">,
  kind: WorkloadKind,
  { allowFrom }: { allowFrom?: string[] },
): string[] | undefined {
  const proxies = modelsOf[kind as NamedKind] === undefined ? [] : workloadsOfKind(spec, "litellm");
  const ofProxies = proxies.map(({ name, said }) => said.namespace ?? name);
  return allowFrom && [...new Set([...allowFrom, ...ofProxies])];
}

/** A server of language models that runs, and its models. */
export interface LanguageServer extends Pick<
  Workload<LanguageServerKind>,
  "kind" | "field" | "key" | "said"
> {
  models: string[];
}

type LanguageServerKind = {
  [W in NamedKind]: (typeof modelsOf)[W] extends undefined ? never : W;
}[NamedKind];

/** Servers of language models, which a proxy can stand in front of, by their kind. */
export const languageServers = (spec: Pick<ClusterSpec, "workloads">): LanguageServer[] =>
  namedKinds.flatMap((kind) =>
    workloadsOfKind(spec, kind).flatMap((server) => {
      const models = modelsOf[kind] as ((said: unknown) => string[]) | undefined;
      if (models === undefined || server.said.active === false) return [];
      return { ...(server as Workload<LanguageServerKind>), models: models(server.said) };
    }),
  );

/** A workload that requests GPUs, whatever its kind, with its path in the stack, e.g. `workloads.ollama`. */
export type GpuRequest = SaidOfGpus &
  Required<Pick<SaidOfGpus, "gpus" | "active" | "machines">> & {
    kind: WorkloadKind;
    field: string;
  };

/** A request for GPUs in a stack. */
export const gpuRequests = (spec: Pick<ClusterSpec, "workloads">): GpuRequest[] =>
  workloadsOf(spec).flatMap(({ kind, field, said }) => {
    const requests = (
      workloadDescriptors[kind].gpuRequests as (said: unknown) => Record<string, SaidOfGpus>
    )(said);
    return Object.entries(requests).map(([name, asked]) => {
      const {
        gpus = 1,
        active = true,
        machines = 1,
        image,
        migProfile,
        claim,
        nodeSelector,
      } = asked;
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

/** A server of a stack: a Deployment and a Service of one name. */
export interface PlannedServer {
  /** Path in the stack, e.g. `workloads.vllm`. */
  field: string;
  name: string;
  namespace: string;
  active: boolean;
  /** With several machines, the LeaderWorkerSet that it is in the place of a Deployment, and its pods. */
  group?: { name: string; machines: number };
}

/** Fields that all servers have. */
type SaidOfServer = Pick<VllmSpec, "active" | "machines" | "namespace" | "storageClass">;

/** The servers of a stack. */
export const plannedServers = (spec: Pick<ClusterSpec, "workloads">): PlannedServer[] =>
  workloadsOf(spec).flatMap(({ field, name, said }) => {
    const { namespace = name, active = true, machines = 1 } = said as SaidOfServer;
    const group = machines > 1 ? { group: { name: groupName(name), machines } } : {};
    return name === "" ? [] : [{ field, name, namespace, active, ...group }];
  });

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

/** The volumes of a stack; those of a server over several machines come with its pods. */
export const plannedVolumes = (spec: Pick<ClusterSpec, "workloads">): PlannedVolume[] =>
  workloadsOf(spec).flatMap(({ kind, field, key, name, said }) => {
    const { keeps }: WorkloadDescriptor<never> = workloadDescriptors[kind];
    const { namespace = name, storageClass, machines = 1 } = said as SaidOfServer;
    if (keeps === undefined || machines > 1) return [];
    const volume = { field, resource: `${key}-${keeps}`, name: volumeName(name, keeps), namespace };
    return [{ ...volume, ...defined({ storageClass }) }];
  });

/** The namespaces that a stack's workloads make, each with the workload that makes it. */
export const namespacesMade = (
  spec: Pick<ClusterSpec, "workloads">,
): { workload: Workload; namespace: string }[] =>
  workloadsOf(spec).flatMap((workload) => {
    const descriptor = workloadDescriptors[workload.kind] as WorkloadDescriptor<unknown>;
    const namespace = descriptor.namespaceMade(workload.said, workload.name);
    return namespace === undefined ? [] : [{ workload, namespace }];
  });
