import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { fromCheckedStack } from "../checked-arguments";
import { clusterLimits } from "../kubernetes/timeouts";
import { workloadResource } from "../recipe/facts/sharing";
import { type GpuPodSpec } from "../recipe/stack/spec/index";
import { type Plan } from "../recipe/types";
import { ComfyUi } from "./comfyui";
import { type GpuAccess } from "./gpu-access";
import { GpuPod } from "./gpu-pod";
import { LiteLlm, type LiteLlmArgs } from "./litellm";
import { Ollama } from "./ollama";
import { Vllm } from "./vllm";

/**
 * The workloads of a stack.
 *
 * @param access What they get at the GPUs by; as it resolves only after the gate, so do they.
 * @returns URLs within the cluster of those that serve, by workload; an inactive one has none.
 */
export function gpuWorkloads(
  name: string,
  plan: Plan,
  access: Pick<GpuAccess, "runtimeClassName" | "gpuResourceName">,
  opts: pulumi.ComponentResourceOptions,
): pulumi.Output<Record<string, string>> {
  const { ollama, comfyui, vllm, litellm, pods = {} } = plan.spec.workloads ?? {};
  const { cudaVersion, era, mode } = plan.kubernetes;
  const common: GpuAccess = {
    ...access,
    tolerations: plan.kubernetes.tolerations,
    exposure: `${mode} on ${era}`,
    readyWithin: clusterLimits(plan.spec.timeouts).workload,
  };
  // With mixed MIG a workload may want devices of another size than the cluster's default.
  const of = <T extends { migProfile?: string }>(workload: T): T & GpuAccess => ({
    ...workload,
    ...common,
    gpuResourceName: pulumi
      .output(access.gpuResourceName)
      .apply((resource) => workloadResource(plan.spec.sharing, workload.migProfile, resource)),
  });
  const endpoints: Record<string, pulumi.Output<string>> = {};
  if (ollama !== undefined) {
    const { endpoint } = new Ollama(`${name}-ollama`, fromCheckedStack(of(ollama)), opts);
    if (ollama.active !== false) endpoints.ollama = endpoint;
  }
  if (comfyui !== undefined) {
    const { endpoint } = new ComfyUi(`${name}-comfyui`, fromCheckedStack({ ...of(comfyui), cudaVersion }), opts);
    if (comfyui.active !== false) endpoints.comfyui = endpoint;
  }
  if (vllm !== undefined) {
    const { endpoint } = new Vllm(`${name}-vllm`, fromCheckedStack({ ...of(vllm), cudaVersion }), opts);
    if (vllm.active !== false) endpoints.vllm = endpoint;
  }
  if (litellm !== undefined) {
    const { tolerations = [], readyWithin = 1200 } = common;
    const routed = { models: ollama?.models ?? [], ollamaUrl: endpoints.ollama ?? "" };
    const args: LiteLlmArgs = { ...litellm, ...routed, tolerations, readyWithin };
    const { endpoint } = new LiteLlm(`${name}-litellm`, fromCheckedStack(args), opts);
    if (litellm.active !== false) endpoints.litellm = endpoint;
  }
  const withAccess = Object.entries(pods).map(([pod, spec]): [string, GpuPodSpec & GpuAccess] => [pod, of(spec)]);
  gpuPods(name, withAccess, opts);
  return pulumi.all(endpoints);
}

/** The default namespace of pods is ours to make; one that the stack names must exist. */
function gpuPods(name: string, pods: [string, GpuPodSpec & GpuAccess][], opts: pulumi.ComponentResourceOptions): void {
  const needsNamespace = pods.some(([, pod]) => pod.namespace === undefined);
  const namespace = needsNamespace
    ? new k8s.core.v1.Namespace(`${name}-gpu-pods`, { metadata: { name: "gpu-pods" } }, opts)
    : undefined;
  for (const [pod, spec] of pods) {
    const dependsOn = spec.namespace === undefined && namespace ? [namespace] : [];
    new GpuPod(`${name}-${pod}`, fromCheckedStack({ ...spec, podName: pod }), pulumi.mergeOptions(opts, { dependsOn }));
  }
}
