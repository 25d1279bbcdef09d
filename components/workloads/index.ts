import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { gpuRelease } from "../kubernetes/release";
import { clusterLimits } from "../kubernetes/timeouts";
import { isDeviceClass, leaderWorkerSet } from "../recipe/facts/gpu-provider";
import { workloadResource } from "../recipe/facts/sharing";
import { defined } from "../recipe/mapping";
import { type GpuPodSpec, type GpuRequestSpec, type WorkloadsSpec } from "../recipe/spec/index";
import {
  allowedNamespaces,
  languageServers,
  plannedServers,
  type WorkloadKind,
  workloadsOfKind,
} from "../recipe/stack/workloads";
import { type Plan } from "../recipe/types";
import { ComfyUi } from "./comfyui";
import { type GpuAccess } from "./gpu-access";
import { GpuPod } from "./gpu-pod";
import { LiteLlm, type LiteLlmServer } from "./litellm";
import { Ollama } from "./ollama";
import { Vllm } from "./vllm";
import { waitingFor, workloadNamespace } from "./namespace";

/**
 * Creates the workloads of a stack.
 *
 * @param access RuntimeClass and GPU resource. They resolve only after the smoke tests, so the pods wait for the smoke
 *   tests.
 * @param ahead Resources that the workloads' namespaces, volumes and Services wait for. The GPU provider's namespace
 *   waits for the same resources.
 * @returns URLs within the cluster, by server; an inactive server has none.
 */
export function gpuWorkloads(
  name: string,
  plan: Plan,
  access: Pick<GpuAccess, "runtimeClassName" | "gpuResourceName">,
  ahead: pulumi.Resource[],
  baseOpts: pulumi.ComponentResourceOptions,
): pulumi.Output<Record<string, string>> {
  const opts = {
    ...baseOpts,
    transformations: [...(baseOpts.transformations ?? []), waitingFor(ahead)],
  };
  const { injection, mode } = plan.kubernetes;
  const common: GpuAccess = {
    ...access,
    tolerations: plan.kubernetes.tolerations,
    exposure: `${mode} on ${injection}`,
    readyWithin: clusterLimits(plan.spec.timeouts).workload,
  };
  const claims = isDeviceClass(plan.kubernetes.resourceName);
  // With mixed MIG a workload may need devices of another size than the cluster's default.
  const withGpuAccess = <T extends GpuRequestSpec>(workload: T): T & GpuAccess => ({
    ...workload,
    ...(claims ? { claim: workload.claim ?? {} } : {}),
    ...common,
    gpuResourceName: pulumi
      .output(access.gpuResourceName)
      .apply((resource) => workloadResource(plan.spec.sharing, workload.migProfile, resource)),
  });
  const groups = groupController(name, plan, opts);
  const endpoints = serve(name, plan, { withGpuAccess, common, groups, opts });
  const pods = Object.entries(plan.spec.workloads?.pods ?? {}).map(
    ([pod, spec]): [string, GpuPodSpec & GpuAccess] => [pod, withGpuAccess(spec)],
  );
  gpuPods(name, pods, opts);
  return pulumi.all(endpoints);
}

/** Inputs for the components of the servers. */
interface ServeContext {
  /** A workload's spec with its access to the GPUs. */
  withGpuAccess: <T extends GpuRequestSpec>(workload: T) => T & GpuAccess;
  common: GpuAccess;
  /** Resources that a server over several machines waits for. */
  groups: pulumi.Resource[];
  opts: pulumi.ComponentResourceOptions;
}

/** A kind of server. */
type ServerKind = Exclude<WorkloadKind, "pods">;
type Maker<W extends ServerKind> = (
  name: string,
  spec: NonNullable<WorkloadsSpec[W]> & { serverName?: string },
  context: ServeContext & { cudaVersion: string; spec: WorkloadsSpec; endpoints: Endpoints },
) => { endpoint: pulumi.Output<string> };
type Endpoints = Record<string, pulumi.Output<string>>;

/** LiteLLM's name of the provider for each kind of server (litellm, docs/my-website/docs/providers: ollama, vllm). */
const providers = { ollama: "ollama_chat", vllm: "hosted_vllm" };

/**
 * For each kind of server, a function that creates its component. LiteLLM comes last, because it needs the other
 * servers. The table does not compile if a kind is missing.
 */
const makers: { [W in ServerKind]: Maker<W> } = {
  ollama: (name, workload, { withGpuAccess, opts }) =>
    new Ollama(name, withGpuAccess(workload), opts),
  comfyui: (name, workload, { withGpuAccess, cudaVersion, opts }) =>
    new ComfyUi(name, { ...withGpuAccess(workload), cudaVersion }, opts),
  vllm: (name, workload, { withGpuAccess, cudaVersion, groups, opts }) => {
    const groupOpts =
      (workload.machines ?? 1) > 1 ? pulumi.mergeOptions(opts, { dependsOn: groups }) : opts;
    return new Vllm(name, { ...withGpuAccess(workload), cudaVersion }, groupOpts);
  },
  litellm: (
    name,
    workload,
    { common: { tolerations = [], readyWithin = 1200 }, spec, endpoints, opts },
  ) => {
    const servers = languageServers({ workloads: spec }).flatMap(
      ({ kind, key, models, spec: serverSpec }): LiteLlmServer[] => {
        const url = endpoints[key];
        const apiKeySecret = "apiKeySecret" in serverSpec ? serverSpec.apiKeySecret : undefined;
        return url === undefined
          ? []
          : [{ provider: providers[kind], models, url, ...defined({ apiKeySecret }) }];
      },
    );
    return new LiteLlm(name, { ...workload, servers, tolerations, readyWithin }, opts);
  },
};

/**
 * The resource that a server over several machines needs: the release of LeaderWorkerSet, if the stack installs it,
 * else its CRD, which Pulumi only reads. If the CRD is missing, the preview fails at this resource, before any machine
 * changes.
 */
function groupController(
  name: string,
  plan: Plan,
  opts: pulumi.CustomResourceOptions,
): pulumi.Resource[] {
  const { leaderWorkerSet: release } = plan.kubernetes;
  if (release === undefined) {
    if (!plannedServers(plan.spec).some(({ group }) => group)) return [];
    const { definition } = leaderWorkerSet;
    const { CustomResourceDefinition } = k8s.apiextensions.v1;
    return [
      CustomResourceDefinition.get(
        `${name}-machines-of-a-model-need-leaderWorkerSet`,
        definition,
        opts,
      ),
    ];
  }
  const namespace = workloadNamespace(`${name}-${release.namespace}`, release.namespace, opts);
  const releaseOpts = pulumi.mergeOptions(opts, { dependsOn: namespace });
  const { release: limit } = clusterLimits(plan.spec.timeouts);
  return [
    gpuRelease(`${name}-${release.chart}`, release, limit, releaseOpts, {
      reconcileToken: plan.spec.reconcileToken,
    }),
  ];
}

/**
 * Creates the servers of a stack.
 *
 * @returns the URLs of active servers.
 */
function serve(name: string, plan: Plan, context: ServeContext): Endpoints {
  const spec = plan.spec.workloads ?? {};
  const { cudaVersion } = plan.kubernetes;
  const endpoints: Endpoints = {};
  for (const kind of Object.keys(makers) as ServerKind[]) {
    const make = makers[kind] as Maker<ServerKind>;
    for (const { key, name: serverName, spec: workload } of workloadsOfKind(plan.spec, kind)) {
      const allowFrom = allowedNamespaces(plan.spec, kind, workload);
      const args = {
        ...workload,
        ...defined({ allowFrom, serverName: key === kind ? undefined : serverName }),
      };
      const { endpoint } = make(`${name}-${key}`, args, {
        ...context,
        cudaVersion,
        spec,
        endpoints,
      });
      if (workload.active !== false) endpoints[key] = endpoint;
    }
  }
  return endpoints;
}

/**
 * Creates the stack's pods, and their default namespace if a pod sets none. A namespace that a pod sets must already
 * exist.
 */
function gpuPods(
  name: string,
  pods: [string, GpuPodSpec & GpuAccess][],
  opts: pulumi.ComponentResourceOptions,
): void {
  const needsNamespace = pods.some(([, pod]) => pod.namespace === undefined);
  const namespace = needsNamespace
    ? workloadNamespace(`${name}-gpu-pods`, "gpu-pods", opts)
    : undefined;
  for (const [pod, spec] of pods) {
    const dependsOn = spec.namespace === undefined && namespace ? [namespace] : [];
    new GpuPod(
      `${name}-${pod}`,
      { ...spec, podName: pod },
      pulumi.mergeOptions(opts, { dependsOn }),
    );
  }
}
