import { uncordonCommand } from "../../program/cluster/cordon-mark";
import { gpuProviderOf, gpuProviders } from "../../recipe/facts/gpu-provider";
import { describeTaint, readTaint, taintsOf, tolerates } from "../../recipe/machine/taints";
import type { MachineRecipe, NodeTaint, Plan } from "../../recipe/types";
import type { Observations, ObservedNode } from "../observations";
import { cardMemory } from "./card-memory";
import { difference, type Difference } from "./difference";
import { otherCards } from "./other-cards";

/** Differences between the machines' nodes and the plan. */
export function nodeDifferences(plan: Plan, { nodes, machines = [] }: Observations): Difference[] {
  if (nodes === undefined) return [];
  return plan.machines.flatMap((machine) => {
    const about = `node ${machine.name}`;
    const node = nodes.find(({ name }) => name === machine.name);
    const ofNode = (problems: string[]): Difference[] =>
      problems.flatMap((problem) => difference(about, problem));
    if (node === undefined)
      return ofNode(["is not in the cluster", ...offers(machine, { allocatable: {} })]);
    return [
      ...readiness(node),
      ...ofNode([
        ...offers(machine, node),
        ...labels(machine, node),
        ...discovery(machine, node, plan),
        ...taints(machine, node, plan),
        ...handler(machine, node, plan),
        ...cardMemory(plan.spec.machines[machine.name]?.gpus ?? [], node),
      ]),
      ...difference(
        about,
        otherCards(
          plan.spec.machines[machine.name]?.gpus ?? [],
          node,
          machines.find(({ name }) => name === machine.name),
        ),
      ).map((item) => ({
        ...item,
        remedy: "correct `gpus` of this machine in the stack's file, then run `pulumi up`",
      })),
    ];
  });
}

/** Differences of a node on which no new pod can start. */
export const readiness = ({
  name,
  ready,
  notReady,
  unschedulable,
  cordonedByUpdate,
}: ObservedNode): Difference[] => [
  ...difference(
    `node ${name}`,
    ready === false && "is not ready",
    notReady === undefined ? [] : [notReady],
  ),
  ...difference(`node ${name}`, unschedulable && "is cordoned, so no new pod can start there").map(
    (item) => ({
      ...item,
      remedy: cordonedByUpdate
        ? `run \`pulumi up\`, which continues the update that has cordoned the node (if it finds nothing to change, also change \`reconcileToken\`); to abandon that update, run \`${uncordonCommand(name)}\``
        : `kubectl uncordon ${name}`,
    }),
  ),
];

function offers(
  { allocatable, atLeast = [], gpuCount }: MachineRecipe,
  { allocatable: actual = {}, devicesUnseen }: Pick<ObservedNode, "allocatable" | "devicesUnseen">,
): string[] {
  const planned = Object.entries(allocatable).flatMap(([resource, count]) => {
    if (devicesUnseen && resource === gpuProviders.dra.deviceClass) return [];
    const [actualCount, isMinimum] = [actual[resource], atLeast.includes(resource)];
    if (isMinimum ? Number(actualCount ?? 0) >= count : (actualCount ?? "0") === String(count))
      return [];
    return [
      `offers ${actualCount ?? "none"} of ${resource}, the plan says ${isMinimum ? "at least " : ""}${count}`,
    ];
  });
  // The kubelet keeps a resource that no plugin registers any more, with the count 0.
  const unplanned = Object.entries(actual)
    .filter(
      ([resource, count]) =>
        gpuCount > 0 && isGpu(resource) && count !== "0" && !(resource in allocatable),
    )
    .map(([resource, count]) => `offers ${count} of ${resource}, the plan says none`);
  return [...planned, ...unplanned];
}

/** Whether a name is a resource of NVIDIA's device plugin, or the DeviceClass of NVIDIA's DRA driver. */
export const isGpu = (resource: string): boolean =>
  resource.startsWith("nvidia.com/") || resource === gpuProviders.dra.deviceClass;

const labels = ({ nodeLabels }: MachineRecipe, node: ObservedNode): string[] =>
  Object.entries(nodeLabels)
    .filter(([key, value]) => node.labels[key] !== value)
    .map(([key, value]) => {
      const actualLabel = node.labels[key];
      const labelText =
        actualLabel === undefined
          ? "lacks the label"
          : `is labelled ${key}=${actualLabel}, the plan says`;
      return `${labelText} ${key}=${value}`;
    });

/**
 * Labels by which the GPU Operator recognizes a GPU node; one of them is enough (gpu-operator v26.7.0,
 * controllers/state_manager.go, gpuNodeLabels).
 */
const ofDiscovery = [
  "feature.node.kubernetes.io/pci-10de.present",
  "feature.node.kubernetes.io/pci-0302_10de.present",
  "feature.node.kubernetes.io/pci-0300_10de.present",
] as const;

function discovery(
  { gpuCount }: MachineRecipe,
  { labels: actualLabels }: ObservedNode,
  { kubernetes }: Plan,
): string[] {
  const isUnneeded = gpuCount === 0 || !gpuProviderOf(kubernetes.mode).findsNodes;
  if (isUnneeded || ofDiscovery.some((label) => actualLabels[label] === "true")) return [];
  return [
    `lacks the label ${ofDiscovery[0]}=true: Node Feature Discovery reports no card, so the operator deploys nothing there`,
  ];
}

/** Taints that Kubernetes sets on a node that is cordoned or not ready. Other differences report these states. */
const ofKubernetes = /^node\.kubernetes\.io\//;

/** Planned taints that the node lacks, and further taints that the plan's GPU pods do not tolerate. */
function taints(
  { name, gpuCount }: MachineRecipe,
  { taints: actualTaints }: ObservedNode,
  plan: Plan,
): string[] {
  if (actualTaints === undefined) return [];
  const planned = taintsOf(plan.spec.machines[name]!).map(describeTaint);
  const isTolerated = (taint: NodeTaint): boolean =>
    taint.effect === "PreferNoSchedule" ||
    plan.kubernetes.tolerations.some((toleration) => tolerates(toleration, taint));
  return [
    ...planned
      .filter((taint) => !actualTaints.includes(taint))
      .map((taint) => `has no taint ${taint}`),
    ...actualTaints
      .filter((text) => gpuCount > 0 && !planned.includes(text) && !ofKubernetes.test(text))
      .filter((text) => !isTolerated(readTaint(text)))
      .map((text) => `has the taint ${text}, which the stack's GPU pods do not tolerate`),
  ];
}

/**
 * Difference of a node whose container runtime lacks the planned handler. The kubelet lists the handlers from
 * Kubernetes 1.31 on (KEP-3857); on older releases they are unknown.
 */
function handler(
  { gpuCount }: MachineRecipe,
  { runtimeHandlers }: ObservedNode,
  { kubernetes }: Plan,
): string[] {
  const plannedHandler = kubernetes.runtimeClass.handler;
  if (
    gpuCount === 0 ||
    plannedHandler === "" ||
    runtimeHandlers === undefined ||
    runtimeHandlers.includes(plannedHandler)
  )
    return [];
  return [`its containerd has no runtime "${plannedHandler}"`];
}
