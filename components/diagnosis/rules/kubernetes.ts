import { describeTaint, taintsOf } from "../../recipe/machine/taints";
import type { NodeTaint, Plan } from "../../recipe/types";
import { type Evidence, matching } from "../evidence";
import type { Observations, ObservedNode, ObservedPod } from "../observations";
import type { Rules } from "./rule";
import type { System } from "./system";

/** What exposes the GPUs to Kubernetes. */
export const kubernetesRules = {
  /** Pods that are not created write no markers, label no node and fail no container. */
  privilegedNamespace: {
    sign: (seen, { namespace }) => matching(seen, /violates PodSecurity/, namespace),
    causes: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
  },
  /** Pods are refused as their RuntimeClass is not there. */
  runtimeClass: { sign: runtimeClassMissing, causes: ["validationMarkers"] },
  /** What nobody places on a node waits for nothing else; and without markers' keeper and plugin the rest waits for them. */
  nodeSelector: {
    sign: selectorFitsNoNode,
    causes: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
  },
  /** The device plugin's DaemonSet wants no pods, and a GPU node lacks the label that it asks for. */
  gpuPresentLabel: { sign: pluginWantsNoPods },
  /** The device plugin says that it does not know its strategy. */
  deviceListStrategy: {
    sign: (seen, { namespace }) => matching(seen, /invalid (--device-list-strategy option|strategy)/, namespace),
  },
  /** Both are about the taints that a stack sets; without its plan nobody knows which of a node's taints those are. */
  tolerations: { sign: taintNotTolerated },
  taintThroughApi: { sign: taintMissing },
  /** The operator's pods wait for marker files that nobody writes. */
  validationMarkers: { sign: waitsForMarkers },
  /** The operator's validator runs where it must not, or does not where it must. */
  operatorValidatorLabel: { sign: validatorAmiss },
  /**
   * The MIG manager's own word, or its silence. States: NVIDIA/mig-parted, pkg/mig/reconfigure (pending, rebooting, success,
   * failed). Silence counts only from a manager that runs: before, something else keeps it.
   */
  migManager: { sign: notSplit },
} satisfies Rules;

function runtimeClassMissing(seen: Observations, system: System): Evidence[] {
  const { name, owner } = system.runtimeClass;
  if (owner !== "component" || seen.runtimeClasses?.some((known) => known.name === name)) return [];
  const refused = matching(seen, new RegExp(`runtimeclass\\S* "?${name}"? not found`, "i"));
  // That it is not there says nothing by itself: the stack may not have come that far.
  return refused.length === 0 || seen.runtimeClasses === undefined
    ? refused
    : [...refused, `there is no RuntimeClass ${name}`];
}

/** Labels that Node Feature Discovery and NVIDIA's programs set when they come that far; their lack is another failure. */
const setLater = /(^|\.)nvidia\.com\/|^feature\.node\.kubernetes\.io\//;

function selectorFitsNoNode(seen: Observations, system: System): string[] {
  const nodes = seen.nodes ?? [];
  if (nodes.length === 0) return [];
  const daemonSets = (seen.daemonSets ?? []).filter(
    ({ namespace, name, labels, desired }) =>
      desired === 0 &&
      ((namespace === system.namespace && /nvidia|gpu|dcgm/.test(name)) ||
        labels?.["app.kubernetes.io/managed-by"] === "talos-gpu"),
  );
  const pods = (seen.pods ?? []).filter((pod) => pod.gpus && pod.phase === "Pending" && pod.node === undefined);
  return [
    ...daemonSets.flatMap((set) => unmetLines(`DaemonSet/${set.name} wants 0 pods`, set.nodeSelector, nodes)),
    ...pods.flatMap((pod) => unmetLines(`Pod/${pod.name} is Pending`, pod.nodeSelector, nodes)),
  ];
}

function unmetLines(what: string, selector: Record<string, string> | undefined, nodes: ObservedNode[]): string[] {
  const unmet = Object.entries(selector ?? {}).filter(
    ([key, value]) => !setLater.test(key) && !nodes.some(({ labels }) => labels[key] === value),
  );
  return unmet.length === 0 ? [] : [`${what}: no node has ${unmet.map((pair) => pair.join("=")).join(", ")}`];
}

function pluginWantsNoPods(seen: Observations, system: System): string[] {
  if (system.mode !== "devicePlugin") return [];
  const idle = (seen.daemonSets ?? []).filter(
    ({ namespace, name, desired }) =>
      namespace === system.namespace && name.includes("device-plugin") && !name.includes("mps") && desired === 0,
  );
  const unlabelled = system.gpuMachines.flatMap((machine) => {
    const node = seen.nodes?.find((candidate) => candidate.name === machine.name);
    const missing =
      node &&
      Object.entries(system.nodeSelector).filter(
        ([key, value]) => key.startsWith("nvidia.com/") && node.labels[key] !== value,
      );
    return missing && missing.length > 0
      ? [`node ${machine.name} lacks ${missing.map(([key, value]) => `${key}=${value}`).join(", ")}`]
      : [];
  });
  if (idle.length === 0 || unlabelled.length === 0) return [];
  return [...idle.map((daemonSet) => `DaemonSet/${daemonSet.name} wants 0 pods`), ...unlabelled];
}

/**
 * Only taints that the stack itself sets: those of somebody else are not what this fix is about. Older schedulers name the
 * taint, that of Kubernetes 1.36 does not (plugins/tainttoleration): then it must be all that the node has.
 */
function taintNotTolerated(seen: Observations, { plan }: System): Evidence[] {
  if (plan === undefined) return [];
  const planned = plannedTaints(plan).filter(({ taint }) => taint.effect !== "PreferNoSchedule");
  const named = planned.flatMap(({ taint }) =>
    matching(seen, new RegExp(`untolerated taint \\{${escape(taint.key)}: `)),
  );
  const excluded = planned.map(({ machine }) => machine).filter((machine) => hasNoOtherTaint(seen, plan, machine));
  return excluded.length === 0 ? named : [...named, ...matching(seen, /untolerated taint\(s\)/)];
}

function hasNoOtherTaint(seen: Observations, plan: Plan, machine: string): boolean {
  const planned = taintsOf(plan.spec.machines[machine]!).map(describeTaint);
  const found = seen.nodes?.find(({ name }) => name === machine)?.taints ?? [];
  return found.length > 0 && found.every((taint) => planned.includes(taint));
}

function taintMissing(seen: Observations, { plan }: System): string[] {
  if (plan === undefined) return [];
  return plannedTaints(plan).flatMap(({ machine, taint }) => {
    const node = seen.nodes?.find((candidate) => candidate.name === machine);
    const missing = node?.taints !== undefined && !node.taints.includes(describeTaint(taint));
    return missing ? [`node ${machine} lacks ${describeTaint(taint)}`] : [];
  });
}

/** Taints that the stack says, whichever way they go onto the node. */
function plannedTaints(plan: Plan): { machine: string; taint: NodeTaint }[] {
  return Object.entries(plan.spec.machines).flatMap(([machine, spec]) =>
    taintsOf(spec).map((taint) => ({ machine, taint })),
  );
}

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Init containers of the operator's pods that wait for marker files. */
const waiters = ["toolkit-validation", "driver-validation", "wait-for-driver-ready"];

function waitsForMarkers(seen: Observations, { namespace, mode, era }: System): string[] {
  if (mode !== "operator" || era !== "legacy") return [];
  return markerKeeper(seen) ? [] : waitingPods(seen, namespace);
}

/** Whether a DaemonSet keeps the marker files on every node that it wants. */
function markerKeeper(seen: Observations): boolean {
  const keeper = (seen.daemonSets ?? []).find(({ name }) => name.includes("validation-markers"));
  return keeper !== undefined && keeper.desired > 0 && keeper.ready === keeper.desired;
}

/** The operator's pods that wait for marker files, one line each. */
function waitingPods(seen: Observations, namespace: string | undefined): string[] {
  return (seen.pods ?? [])
    .filter((pod) => pod.namespace === namespace && pod.phase === "Pending")
    .flatMap((pod) => {
      const waiter = waitingContainer(pod);
      return waiter === undefined ? [] : [`Pod/${pod.name}: Init, ${waiter} does not end`];
    });
}

function waitingContainer(pod: ObservedPod): string | undefined {
  return pod.initContainers?.find((container) => waiters.includes(container.name) && container.state !== "terminated")
    ?.name;
}

const validatorLabel = "nvidia.com/gpu.deploy.operator-validator";

function validatorAmiss(seen: Observations, system: System): string[] {
  if (system.mode !== "operator") return [];
  if (system.era === "legacy") return validatorRuns(seen, system);
  return system.era === "cdi" ? validatorKeptAway(seen, system) : [];
}

/** From Talos 1.13 on nobody else writes the files: a label of the days of 1.12 has the operands wait for good. */
function validatorKeptAway(seen: Observations, { namespace }: System): string[] {
  const labelled = (seen.nodes ?? [])
    .filter(({ labels }) => labels[validatorLabel] === "false")
    .map(({ name }) => name);
  const pods = (seen.pods ?? []).filter(({ node }) => node !== undefined && labelled.includes(node));
  const waiting = waitingPods({ ...seen, pods }, namespace);
  return waiting.length === 0 ? [] : [`Node/${labelled.join(", ")}: labelled ${validatorLabel}=false`, ...waiting];
}

/** A validator that never ends, beside files that are kept: without those it is their lack that is to be told. */
function validatorRuns(seen: Observations, system: System): string[] {
  if (!markerKeeper(seen)) return [];
  // Where the label is in force, a validator is one that is just being taken away.
  const allowed = (seen.nodes ?? []).filter(({ labels }) => labels[validatorLabel] !== "false").map(({ name }) => name);
  const pods = (seen.pods ?? []).filter(
    ({ name, node }) => name.includes("operator-validator") && node !== undefined && allowed.includes(node),
  );
  return waitingPods({ ...seen, pods }, system.namespace);
}

const configLabel = "nvidia.com/mig.config";
const stateLabel = "nvidia.com/mig.config.state";

function notSplit(seen: Observations, system: System): Evidence[] {
  return (seen.nodes ?? []).flatMap((node) =>
    notSplitOn(node, seen, system).map((line) => ({ node: node.name, line })),
  );
}

function notSplitOn(node: ObservedNode, seen: Observations, system: System): string[] {
  const config = node.labels[configLabel];
  if (!config) return [];
  const state = node.labels[stateLabel];
  if (state === "failed") return [`node ${node.name}: ${stateLabel}=failed for ${config}`];
  return state === undefined && managerRuns(seen, node, system)
    ? [`node ${node.name}: the MIG manager runs and says nothing about ${config}: no ${stateLabel}`]
    : [];
}

function managerRuns(seen: Observations, node: ObservedNode, system: System): boolean {
  return (seen.pods ?? []).some(
    (pod) =>
      pod.namespace === system.namespace &&
      pod.name.startsWith("nvidia-mig-manager") &&
      pod.node === node.name &&
      (pod.containers ?? []).some(({ name, state }) => name === "nvidia-mig-manager" && state === "running"),
  );
}
