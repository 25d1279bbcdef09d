import { NodePatch } from "@pulumi/kubernetes/core/v1";
import * as pulumi from "@pulumi/pulumi";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { defined } from "../recipe/mapping";
import { shortHash } from "../recipe/short-hash";

/**
 * Sets the labels of the machine's node through the Kubernetes API. Talos would set all labels in one request, which
 * fails as a whole if Kubernetes refuses a field (NodeRestriction; talos#8193). The machine program sets the taints,
 * because server-side apply treats all taints of a node as one list: it would replace them all with the stack's taints.
 *
 * The patch is forced, because Talos, the operator and kubectl may own the same labels, and the stack decides. The
 * patch's field manager has a fixed name. Otherwise Pulumi would generate a new name after a killed update, and nothing
 * would remove the labels of the first manager.
 *
 * @param upgraded the resource that upgrades the machine: once it exists, the node may be changed.
 * @param provider Kubernetes provider of a cluster that this stack bootstraps. Default: the provider of the options.
 * @returns the resource that exists once the node has its labels; `upgraded` if the node gets no labels.
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
    // The provider applies labels again only if an input has changed.
    ...defined({ "talos-gpu/reconcile-token": reconcileToken }),
  };
  const afterUpgrade = { ...opts, dependsOn: upgraded, ...defined({ provider }) };
  // Deleting the replaced patch would remove the fields of the new one, which has the same manager.
  return new NodePatch(
    name,
    { metadata: { name: node, annotations, labels } },
    { ...afterUpgrade, deleteBeforeReplace: true },
  );
}
