import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { clusterLimits } from "../kubernetes/timeouts";
import { type Plan } from "../recipe/types";
import { ComfyUi } from "./comfyui";
import { type GpuAccess } from "./gpu-access";
import { GpuPod } from "./gpu-pod";
import { LiteLlm, type LiteLlmArgs } from "./litellm";
import { Ollama } from "./ollama";

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
  const { ollama, comfyui, litellm, pods = {} } = plan.spec.workloads ?? {};
  const common: GpuAccess = {
    ...access,
    tolerations: plan.kubernetes.tolerations,
    readyWithin: clusterLimits(plan.spec.timeouts).workload,
  };
  const endpoints: Record<string, pulumi.Output<string>> = {};
  if (ollama !== undefined) {
    const { endpoint } = new Ollama(`${name}-ollama`, { ...ollama, ...common }, opts);
    if (ollama.active !== false) endpoints.ollama = endpoint;
  }
  if (comfyui !== undefined) {
    const { cudaVersion } = plan.kubernetes;
    const { endpoint } = new ComfyUi(`${name}-comfyui`, { ...comfyui, ...common, cudaVersion }, opts);
    if (comfyui.active !== false) endpoints.comfyui = endpoint;
  }
  if (litellm !== undefined) {
    const { tolerations = [], readyWithin = 1200 } = common;
    const routed = { models: ollama?.models ?? [], ollamaUrl: endpoints.ollama ?? "" };
    const args: LiteLlmArgs = { ...litellm, ...routed, tolerations, readyWithin };
    const { endpoint } = new LiteLlm(`${name}-litellm`, args, opts);
    if (litellm.active !== false) endpoints.litellm = endpoint;
  }
  gpuPods(name, pods, common, opts);
  return pulumi.all(endpoints);
}

/** The default namespace of pods is ours to make; one that the stack names must exist. */
function gpuPods(
  name: string,
  pods: NonNullable<NonNullable<Plan["spec"]["workloads"]>["pods"]>,
  common: GpuAccess,
  opts: pulumi.ComponentResourceOptions,
): void {
  const needsNamespace = Object.values(pods).some((pod) => pod.namespace === undefined);
  const namespace = needsNamespace
    ? new k8s.core.v1.Namespace(`${name}-gpu-pods`, { metadata: { name: "gpu-pods" } }, opts)
    : undefined;
  for (const [pod, spec] of Object.entries(pods)) {
    const dependsOn = spec.namespace === undefined && namespace ? [namespace] : [];
    const args = { ...spec, ...common, podName: pod };
    new GpuPod(`${name}-${pod}`, args, pulumi.mergeOptions(opts, { dependsOn }));
  }
}
