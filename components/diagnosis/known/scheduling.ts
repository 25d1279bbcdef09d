import { describeTaint, taintsOf } from "../../recipe/machine/taints";
import type { ClusterSpec } from "../../recipe/spec/index";
import type { NodeTaint, Plan } from "../../recipe/types";
import { type Evidence, escaped, matching } from "../evidence";
import type { Observations, ObservedNode } from "../observations";
import type { System } from "../system";
import { fixesOf, hasGpu } from "./known";

/** Fixes for pods that get no node or the wrong node, because of labels or taints. */
export const schedulingFixes = fixesOf({
  nodeSelector: {
    does: "NVIDIA's DaemonSets select GPU nodes by nvidia.com/gpu.present=true, and workloads by the resource that they request",
    symptom:
      "a DaemonSet wants 0 pods (DESIRED 0), or a pod stays Pending: node(s) didn't match Pod's node affinity/selector",
    cause:
      "the selector requires a label that no node has. It may be a role label that someone set by hand, and that the node lost when it registered again",
    errors: [
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
      "DESIRED   0",
    ],
    inForce: "remove stale labels from your own selectors, and run `pulumi up --refresh`",
    source:
      "Kubernetes: a pod whose node selector matches no node is not scheduled; k8s-device-plugin, chart values",
    check: "pod-node-selector",
    usedBy: hasGpu,
    // A pod without a node has no other cause. Without the pods that write markers and offer cards, all other pods
    // wait.
    sign: selectorFitsNoNode,
    hides: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
  },
  gpuPresentLabel: {
    does: "GPU nodes are labelled nvidia.com/gpu.present=true",
    symptom: "the device plugin's DaemonSet wants 0 pods and the node offers no nvidia.com/gpu",
    cause:
      "the chart's affinity requires a label that Node Feature Discovery sets. The standalone plugin's chart by default does not install Node Feature Discovery",
    errors: ["DESIRED   0", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."],
    source: "k8s-device-plugin#1213; talos#12103",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.mode === "devicePlugin",
    // The device plugin's DaemonSet wants no pods, and a GPU node lacks the label that it requires.
    sign: pluginWantsNoPods,
  },
  tolerations: {
    does: "NVIDIA's pods, the smoke tests and the workloads tolerate the taints of the GPU machines",
    symptom:
      "the device plugin's DaemonSet wants 0 pods, or pods stay Pending: node(s) had untolerated taint; the node offers no nvidia.com/gpu",
    cause:
      "the charts tolerate only one taint that users set, nvidia.com/gpu:NoSchedule (the device plugin's chart also tolerates CriticalAddonsOnly). A GPU machine has a different taint",
    source:
      "k8s-device-plugin and gpu-operator charts, values.yaml (tolerations); k8s-device-plugin#1934",
    usedBy: (plan) => hasGpu(plan) && excludingTaints(plan.spec).length > 0,
    // This fix and the next are about the stack's taints, which are unknown without its plan.
    sign: taintNotTolerated,
  },
  taintThroughApi: {
    does: "a worker's taints are set through the Kubernetes API, and by the kubelet's registerWithTaints when its node registers again",
    symptom: "the node lacks its taint, and pods without a GPU run on the GPU machine",
    cause:
      "a worker may not change its own taints: NodeRestriction refuses machine.nodeTaints on a registered node. Talos sets labels in the same request, so the labels are refused as well",
    source: "Kubernetes NodeRestriction; talos#8193, talos#10935",
    usedBy: (plan) =>
      Object.values(plan.spec.machines).some(
        (machine) => machine.role === "worker" && taintsOf(machine).length > 0,
      ),
    sign: taintMissing,
  },
});

/** Taints of the GPU machines that keep pods away. */
const excludingTaints = (spec: ClusterSpec): NodeTaint[] =>
  Object.values(spec.machines)
    .filter((machine) => (machine.gpus ?? []).length > 0)
    .flatMap(taintsOf)
    .filter((taint) => taint.effect !== "PreferNoSchedule");

/**
 * Labels that Node Feature Discovery and NVIDIA's programs set. If one of these labels is missing, another failure
 * explains that.
 */
const setLater = /(^|\.)nvidia\.com\/|^feature\.node\.kubernetes\.io\//;

function selectorFitsNoNode(observations: Observations, system: System): string[] {
  const nodes = observations.nodes ?? [];
  if (nodes.length === 0) return [];
  const daemonSets = (observations.daemonSets ?? []).filter(
    ({ namespace, name, labels, desired }) =>
      desired === 0 &&
      ((namespace === system.namespace && /nvidia|gpu|dcgm/.test(name)) ||
        labels?.["app.kubernetes.io/managed-by"] === "talos-gpu"),
  );
  const pods = (observations.pods ?? []).filter(
    (pod) => pod.gpus && pod.phase === "Pending" && pod.node === undefined,
  );
  return [
    ...daemonSets.flatMap((set) =>
      unmetLines(`DaemonSet/${set.name} wants 0 pods`, set.nodeSelector, nodes),
    ),
    ...pods.flatMap((pod) => unmetLines(`Pod/${pod.name} is Pending`, pod.nodeSelector, nodes)),
  ];
}

function unmetLines(
  description: string,
  selector: Record<string, string> | undefined,
  nodes: ObservedNode[],
): string[] {
  const unmet = Object.entries(selector ?? {}).filter(
    ([key, value]) => !setLater.test(key) && !nodes.some(({ labels }) => labels[key] === value),
  );
  return unmet.length === 0
    ? []
    : [`${description}: no node has ${unmet.map((pair) => pair.join("=")).join(", ")}`];
}

function pluginWantsNoPods(observations: Observations, system: System): string[] {
  if (system.mode !== "devicePlugin") return [];
  const idle = (observations.daemonSets ?? []).filter(
    ({ namespace, name, desired }) =>
      namespace === system.namespace &&
      name.includes("device-plugin") &&
      !name.includes("mps") &&
      desired === 0,
  );
  const unlabelled = system.gpuMachines.flatMap((machine) => {
    const node = observations.nodes?.find((candidate) => candidate.name === machine.name);
    const missing =
      node &&
      Object.entries(system.nodeSelector).filter(
        ([key, value]) => key.startsWith("nvidia.com/") && node.labels[key] !== value,
      );
    return missing && missing.length > 0
      ? [
          `node ${machine.name} lacks ${missing.map(([key, value]) => `${key}=${value}`).join(", ")}`,
        ]
      : [];
  });
  if (idle.length === 0 || unlabelled.length === 0) return [];
  return [...idle.map((daemonSet) => `DaemonSet/${daemonSet.name} wants 0 pods`), ...unlabelled];
}

/**
 * Signs that pods do not tolerate a taint of the stack. Schedulers before Kubernetes 1.36 name the taint in their
 * message. Later schedulers do not name it (plugins/tainttoleration), so their message counts only if at least one
 * machine has no taints other than the stack's.
 */
function taintNotTolerated(observations: Observations, { plan }: System): Evidence[] {
  if (plan === undefined) return [];
  const planned = plannedTaints(plan).filter(({ taint }) => taint.effect !== "PreferNoSchedule");
  const matchesOfTaints = planned.flatMap(({ taint }) =>
    matching(observations, new RegExp(`untolerated taint \\{${escaped(taint.key)}: `)),
  );
  const excluded = planned
    .map(({ machine }) => machine)
    .filter((machine) => hasNoOtherTaint(observations, plan, machine));
  return excluded.length === 0
    ? matchesOfTaints
    : [...matchesOfTaints, ...matching(observations, /untolerated taint\(s\)/)];
}

function hasNoOtherTaint(observations: Observations, plan: Plan, machine: string): boolean {
  const planned = taintsOf(plan.spec.machines[machine]!).map(describeTaint);
  const actualTaints = observations.nodes?.find(({ name }) => name === machine)?.taints ?? [];
  return actualTaints.length > 0 && actualTaints.every((taint) => planned.includes(taint));
}

function taintMissing(observations: Observations, { plan }: System): string[] {
  if (plan === undefined) return [];
  return plannedTaints(plan).flatMap(({ machine, taint }) => {
    const node = observations.nodes?.find((candidate) => candidate.name === machine);
    const missing = node?.taints !== undefined && !node.taints.includes(describeTaint(taint));
    return missing ? [`node ${machine} lacks ${describeTaint(taint)}`] : [];
  });
}

/** Each taint that the stack's machines should have, with its machine. */
const plannedTaints = (plan: Plan): { machine: string; taint: NodeTaint }[] =>
  Object.entries(plan.spec.machines).flatMap(([machine, spec]) =>
    taintsOf(spec).map((taint) => ({ machine, taint })),
  );
