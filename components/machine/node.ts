import { NodePatch } from "@pulumi/kubernetes/core/v1";
import * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { shortHash } from "../recipe/short-hash";
import { runProgram } from "./program-resource";
import type { TaintTask } from "./program/task";
import { taintsOf } from "./upgrade-task";

/**
 * A text that resolves once the resource is made, and depends on it. Unlike an output of the resource it is known at
 * preview, so a reader of the preview sees what will be done with it.
 */
const once = (resource: pulumi.Resource, value: string): pulumi.Output<string> => resource.urn.apply(() => value);

/** Limit of tainting a node: a few requests. */
const LIMIT = "5m";

/** A node that is as the stack wants it. */
export interface Patched {
  /** Its name. Resolves when the node is as wanted. */
  ready: pulumi.Output<string>;
  /** Resources that made it so; none where there is nothing to say of the node. */
  by: pulumi.Resource[];
}

/**
 * Labels and taints of the machine's node, through the Kubernetes API: a worker may not taint itself, and one refused field
 * makes Talos' own update of the node fail as a whole (NodeRestriction; talos#8193). Registers nothing when there is
 * nothing to say.
 *
 * @param upgraded what brought the machine: once it is there, the node may be touched.
 * @param provider Kubernetes provider of a cluster that is bootstrapped here. Default: the one of the options.
 */
export function patchNode(
  names: { node: string; taints: string },
  upgraded: pulumi.Resource,
  machine: PlannedMachine,
  secrets: Secrets,
  opts: pulumi.CustomResourceOptions,
  provider?: pulumi.ProviderResource,
): Patched {
  const after = { ...opts, dependsOn: upgraded };
  const inCluster = provider === undefined ? after : { ...after, provider };
  const by = [
    ...(Object.keys(machine.nodeLabels).length > 0 ? [labelled(names.node, machine, inCluster)] : []),
    ...(machine.nodeTaints.length > 0 ? [tainted(names.taints, machine, secrets, after)] : []),
  ];
  // Each of them waits for the node already; outputs cost, so there are no more than needed.
  const [first, second] = by;
  if (first === undefined) return { ready: once(upgraded, machine.name), by };
  if (second === undefined) return { ready: once(first, machine.name), by };
  return { ready: pulumi.all([first.urn, second.urn]).apply(() => machine.name), by };
}

/**
 * Forced: Talos, the operator and kubectl may hold the same labels, and the stack decides. By a field manager of its
 * own name: one that Pulumi draws would be another after a kill, and the labels of the lost one would outlast the stack.
 */
function labelled(
  name: string,
  { name: node, nodeLabels: labels, reconcileToken }: PlannedMachine,
  opts: pulumi.CustomResourceOptions,
): pulumi.Resource {
  const manager = `talos-gpu-${shortHash([pulumi.getProject(), pulumi.getStack(), name].join("/"), 12)}`;
  const annotations = {
    "pulumi.com/patchForce": "true",
    "pulumi.com/patchFieldManager": manager,
    // The provider applies labels again only where an input has changed.
    ...(reconcileToken === undefined ? {} : { "talos-gpu/reconcile-token": reconcileToken }),
  };
  // The end of the one that was replaced would give up the fields of the new one, which has the same manager.
  const first = { ...opts, deleteBeforeReplace: true };
  return new NodePatch(name, { metadata: { name: node, annotations, labels } }, first);
}

/**
 * Not by NodePatch: the taints of a node are one list to server-side apply, so that applying ours would take everybody
 * else's away. The program merges by key and effect, and takes away on delete what it added. It looks when the stack's
 * taints or its `reconcileToken` change, not at every update: a taint that somebody takes away by hand stays away until then.
 */
function tainted(
  name: string,
  machine: PlannedMachine,
  secrets: Secrets,
  opts: pulumi.CustomResourceOptions,
): pulumi.Resource {
  const task = JSON.stringify({ machine: machine.name, taints: taintsOf(machine) } satisfies TaintTask);
  const { reconcileToken } = machine;
  const needs = ["talosconfig", "kubeconfig"] as const;
  return runProgram(
    name,
    { verb: "taint", deleteVerb: "untaint", task, needs, secrets, limit: LIMIT, reconcileToken },
    opts,
  );
}
