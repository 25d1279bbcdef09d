import { NodePatch } from "@pulumi/kubernetes/core/v1";
import * as pulumi from "@pulumi/pulumi";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { defined } from "../recipe/mapping";
import { shortHash } from "../recipe/short-hash";

/**
 * Labels of the machine's node, through the Kubernetes API: one refused field makes Talos' own update of the node
 * fail as a whole (NodeRestriction; talos#8193). Its taints are the program's business: to server-side apply the
 * taints of a node are one list, so that applying ours would take everybody else's away.
 *
 * Forced: Talos, the operator and kubectl may hold the same labels, and the stack decides. By a field manager of its
 * own name: one that Pulumi draws would be another after a kill, and the labels of the lost one would outlast the
 * stack.
 *
 * @param upgraded the resource that upgrades the machine: once it exists, the node may be changed.
 * @param provider Kubernetes provider of a cluster that is bootstrapped here. Default: the one of the options.
 * @returns the resource that exists once the node is as wanted: `upgraded` if the node needs no change.
 */
export function labelNode(
  name: string,
  upgraded: pulumi.Resource,
  { name: node, nodeLabels: labels, reconcileToken }: PlannedMachine,
  opts: pulumi.CustomResourceOptions,
  provider?: pulumi.ProviderResource,
): pulumi.Resource {
  if (Object.keys(labels).length === 0) return upgraded;
  const manager = `talos-gpu-${shortHash([pulumi.getProject(), pulumi.getStack(), name].join("/"), 12)}`;
  const annotations = {
    "pulumi.com/patchForce": "true",
    "pulumi.com/patchFieldManager": manager,
    // The provider applies labels again only where an input has changed.
    ...defined({ "talos-gpu/reconcile-token": reconcileToken }),
  };
  const after = { ...opts, dependsOn: upgraded, ...defined({ provider }) };
  // The end of the one that was replaced would give up the fields of the new one, which has the same manager.
  return new NodePatch(
    name,
    { metadata: { name: node, annotations, labels } },
    { ...after, deleteBeforeReplace: true },
  );
}
