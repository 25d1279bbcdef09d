import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import type { KubernetesRecipe } from "../recipe/types";
import { keeps } from "./pods";

/**
 * The namespace of the GPU release, with its Pod Security labels. Talos enforces `baseline` everywhere but in
 * `kube-system` (talos pkg/machinery/config: default admission control), and the operands mount host paths.
 * The labels must be there before the chart: its Node Feature Discovery workers start earlier than the operator that
 * could label its own namespace.
 *
 * @returns undefined where the namespace is the cluster's own (`kube-system`).
 */
export function gpuNamespace(
  name: string,
  recipe: KubernetesRecipe,
  opts: pulumi.CustomResourceOptions,
): k8s.core.v1.Namespace | undefined {
  if (recipe.namespaceLabels === undefined) return undefined;
  return new k8s.core.v1.Namespace(
    `${name}-namespace`,
    { metadata: { name: recipe.namespace, labels: recipe.namespaceLabels } },
    { ...opts, ...keeps(recipe) },
  );
}
