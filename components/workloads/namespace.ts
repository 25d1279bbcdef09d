import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";

/**
 * A namespace for a workload, with the Pod Security level that its pods keep to. Talos enforces the same where nothing is said
 * (talos pkg/machinery/config: default admission control); other clusters may not.
 *
 * @param name of the resource.
 * @param wanted name of the namespace.
 */
export function workloadNamespace(
  name: string,
  wanted: string,
  opts: pulumi.CustomResourceOptions,
): k8s.core.v1.Namespace {
  const labels = { "pod-security.kubernetes.io/enforce": "baseline" };
  return new k8s.core.v1.Namespace(name, { metadata: { name: wanted, labels } }, opts);
}
