import * as pulumi from "@pulumi/pulumi";
import type { GpuToleration } from "./toleration";

/** Labels of everything that this package makes in a cluster, `component` telling its kinds apart. */
export function labels(component: string): Record<string, string> {
  return { "app.kubernetes.io/name": component, "app.kubernetes.io/managed-by": "talos-gpu" };
}

/**
 * Limits that request units of a GPU resource. An extended resource is requested by its limit alone, and the request is
 * also what sends the pod to a node that has it: no node selector is needed beside it.
 */
export function gpuLimits(resourceName: pulumi.Input<string>, units: number): pulumi.Output<Record<string, string>> {
  return pulumi.output(resourceName).apply((resource) => ({ [resource]: String(units) }));
}

/** What a container needs that needs nothing: Pod Security `restricted` but for the user. */
export const unprivileged = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};

/** Pod Security `restricted`. NVIDIA's devices are open to every user (mode 0666). */
export const restricted = { ...unprivileged, runAsNonRoot: true, runAsUser: 65534, readOnlyRootFilesystem: true };

/** Node selector of one machine. Talos sets the host name label to the node's name. */
export function onNode(machine: string): Record<string, string> {
  return { "kubernetes.io/hostname": machine };
}

/** Tolerations as a pod spec takes them: without undefined members. */
export function podTolerations(tolerations: GpuToleration[] = []): GpuToleration[] {
  return tolerations.map(({ key, operator, value, effect }) => ({
    key,
    operator,
    ...(value === undefined ? {} : { value }),
    ...(effect === undefined ? {} : { effect }),
  }));
}

/**
 * A Kubernetes name made of words: lower case, `-` for what a name cannot hold, cut to the 63 characters of a label.
 */
export function kubernetesName(...words: string[]): string {
  const name = words
    .join("-")
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-");
  return name.slice(0, 63).replace(/^-+|-+$/g, "");
}

/**
 * Annotation of a Job that the next update makes anew unless it succeeded: a failed Job never runs again, so it would fail
 * every later update too (pulumi-kubernetes, provider/pkg/provider/provider.go, Diff).
 */
export const anewUnlessDone = { "pulumi.com/replaceUnready": "true" };
