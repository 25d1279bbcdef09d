import { describeTaint, taintsOf, tolerates } from "../../recipe/machine/taints";
import type { MachineRecipe, NodeTaint, Plan } from "../../recipe/types";
import type { Observations, ObservedNode } from "../observations";
import { difference, type Difference } from "./difference";

/** Where a machine's node is unlike the plan; each entry of the table is one thing that the plan says of it. */
export function unlikeNodes(plan: Plan, seen: Observations): Difference[] {
  if (seen.nodes === undefined) return [];
  return plan.machines.flatMap((machine) => {
    const about = `node ${machine.name}`;
    const node = seen.nodes!.find(({ name }) => name === machine.name);
    if (node === undefined) return [difference(about, "is not in the cluster"), ...offers(machine, undefined)];
    return aspects.flatMap((aspect) => aspect(machine, node, plan));
  });
}

type Aspect = (machine: MachineRecipe, node: ObservedNode, plan: Plan) => Difference[];

const aspects: Aspect[] = [readiness, offers, labels, missingTaints, foreignTaints, handler];

function readiness({ name }: MachineRecipe, { ready, notReady, unschedulable }: ObservedNode): Difference[] {
  return [
    ...(ready === false ? [difference(`node ${name}`, "is not ready", notReady === undefined ? [] : [notReady])] : []),
    ...(unschedulable ? [difference(`node ${name}`, "is cordoned, so no new pod goes there")] : []),
  ];
}

function offers(
  { name, allocatable, atLeast = [], gpuCount }: MachineRecipe,
  node: ObservedNode | undefined,
): Difference[] {
  const offered = node?.allocatable ?? {};
  const planned = Object.entries(allocatable)
    .map(([resource, count]) => ({ resource, count, has: offered[resource], least: atLeast.includes(resource) }))
    .filter(({ count, has = "0", least }) => (least ? Number(has) < count : has !== String(count)))
    .map(({ resource, count, has = "none", least }) =>
      difference(`node ${name}`, `offers ${has} of ${resource}, the plan says ${least ? "at least " : ""}${count}`),
    );
  // The kubelet keeps the name of a resource that nobody registers any more, with the count 0.
  const more = Object.entries(offered)
    .filter(([resource, count]) => gpuCount > 0 && isGpu(resource) && count !== "0" && !(resource in allocatable))
    .map(([resource, count]) => difference(`node ${name}`, `offers ${count} of ${resource}, the plan says none`));
  return [...planned, ...more];
}

/** Whether a resource is one that NVIDIA's device plugin offers. */
export const isGpu = (resource: string): boolean => resource.startsWith("nvidia.com/");

function labels({ name, nodeLabels }: MachineRecipe, node: ObservedNode): Difference[] {
  return Object.entries(nodeLabels)
    .filter(([key, value]) => node.labels[key] !== value)
    .map(([key, value]) => {
      const has = node.labels[key];
      const now = has === undefined ? "lacks the label" : `is labelled ${key}=${has}, the plan says`;
      return difference(`node ${name}`, `${now} ${key}=${value}`);
    });
}

function missingTaints({ name }: MachineRecipe, node: ObservedNode, plan: Plan): Difference[] {
  return taintsOf(plan.spec.machines[name]!)
    .map(describeTaint)
    .filter((taint) => node.taints !== undefined && !node.taints.includes(taint))
    .map((taint) => difference(`node ${name}`, `has no taint ${taint}`));
}

/** Kubernetes' own taints of a node that is cordoned or not ready; both are told already. */
const ofKubernetes = /^node\.kubernetes\.io\//;

/** Taints that keep GPU pods away, because nothing of the plan tolerates them. */
function foreignTaints({ name, gpuCount }: MachineRecipe, node: ObservedNode, plan: Plan): Difference[] {
  if (gpuCount === 0) return [];
  const planned = taintsOf(plan.spec.machines[name]!).map(describeTaint);
  return (node.taints ?? [])
    .filter((text) => !planned.includes(text) && !ofKubernetes.test(text))
    .map((text) => ({ text, taint: readTaint(text) }))
    .filter(({ taint }) => taint.effect !== "PreferNoSchedule")
    .filter(({ taint }) => !plan.kubernetes.tolerations.some((toleration) => tolerates(toleration, taint)))
    .map(({ text }) => difference(`node ${name}`, `has the taint ${text}, which GPU pods of the plan do not tolerate`));
}

/** Reads `key=value:Effect` or `key:Effect`. */
function readTaint(text: string): NodeTaint {
  const [, key = text, value, effect = ""] = /^([^=:]+)(?:=([^:]*))?:(.*)$/.exec(text) ?? [];
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

/** The kubelet lists the handlers of its runtime from Kubernetes 1.31 on (KEP-3857); before, nothing is known. */
function handler({ name, gpuCount }: MachineRecipe, node: ObservedNode, plan: Plan): Difference[] {
  const wanted = plan.kubernetes.runtimeClass.handler;
  if (gpuCount === 0 || node.runtimeHandlers === undefined || node.runtimeHandlers.includes(wanted)) return [];
  return [difference(`node ${name}`, `its containerd has no runtime "${wanted}"`)];
}
