import { NodePatch } from "@pulumi/kubernetes/core/v1";
import type * as pulumi from "@pulumi/pulumi";
import type { GpuMachineRecipe } from "./args";
import { once } from "./gate";

/**
 * Labels and taints of the machine's node, through the Kubernetes API: a worker may not taint itself, and one refused field
 * makes Talos' own update of the node fail as a whole (NodeRestriction; talos#8193). Registers nothing when there is
 * nothing to say.
 *
 * Forced: Talos, the operator and kubectl may hold the same labels, and the stack's word is the last. Taints are one list
 * to server-side apply, so the node has the stack's and no others, save those that Kubernetes and Talos put back by
 * themselves.
 *
 * @param node name of the node; resolves when it may be touched.
 * @returns the name, resolving when the node is as wanted.
 */
export function patchNode(
  name: string,
  node: pulumi.Output<string>,
  recipe: GpuMachineRecipe,
  opts: pulumi.CustomResourceOptions,
): pulumi.Output<string> {
  const { nodeLabels, nodeTaints } = recipe;
  const labelled = Object.keys(nodeLabels).length > 0;
  if (!labelled && nodeTaints.length === 0) return node;
  const patch = new NodePatch(
    name,
    {
      metadata: {
        name: node,
        annotations: { "pulumi.com/patchForce": "true" },
        ...(labelled ? { labels: nodeLabels } : {}),
      },
      ...(nodeTaints.length > 0 ? { spec: { taints: nodeTaints } } : {}),
    },
    opts,
  );
  return once(patch, node);
}
