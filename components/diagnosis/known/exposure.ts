import type { Plan } from "../../recipe/types";
import { needsMarkers } from "../../recipe/cluster/markers";
import { type Evidence, matching } from "../evidence";
import type { Observations } from "../observations";
import type { System } from "../system";
import { hasGpu, type Signs } from "./known";

/** What exposes the GPUs to Kubernetes. */
export const exposureFixes = {
  privilegedNamespace: {
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.namespaceLabels !== undefined,
    // Pods that are not created write no markers, label no node and fail no container.
    sign: (seen, { namespace }) => matching(seen, /violates PodSecurity/, namespace),
    causes: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
  },
  runtimeClass: {
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.runtimeClass.owner === "component",
    // Pods are refused as their RuntimeClass is not there.
    sign: runtimeClassMissing,
    causes: ["validationMarkers"],
  },
  deviceListStrategy: {
    usedBy: (plan) => hasGpu(plan) && plan.era === "legacy",
    // The device plugin says that it does not know its strategy.
    sign: (seen, { namespace }) =>
      matching(seen, /invalid (--device-list-strategy option|strategy)/, namespace),
  },
  validationMarkers: {
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.era, plan.kubernetes.mode),
    // The operator's pods wait for marker files that no program writes.
    sign: waitsForMarkers,
  },
  operatorValidatorLabel: {
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.era, plan.kubernetes.mode),
    // The operator's validator runs where it must not, or does not where it must.
    sign: validatorAmiss,
  },
  migManager: {
    usedBy: (plan) =>
      hasGpu(plan) && plan.kubernetes.mode === "operator" && plan.spec.sharing?.mig !== undefined,
    // The MIG manager's own word, or its silence. States: NVIDIA/mig-parted, pkg/mig/reconfigure (pending, rebooting, success,
    // failed). Silence counts only from a manager that runs: before, something else keeps it.
    sign: notSplit,
  },
  operatorToolkit: {
    usedBy: byNri,
    // The operator's pods name a runtime that no machine has.
    sign: (seen, system) => ofNri(seen, system, /no runtime for "nvidia" is configured/),
    causes: ["managementCards"],
    isUnderneath: true,
  },
  toolkitFolder: {
    usedBy: byNri,
    sign: (seen, system) =>
      ofNri(seen, system, /mkdir \/usr\/local\/nvidia: read-only file system/),
    causes: ["managementCards"],
  },
  noRuntimeClass: {
    usedBy: byNri,
    sign: (seen, system) => ofNri(seen, system, /RuntimeClass "?nvidia"? not found/i),
  },
  managementCards: {
    usedBy: (plan) =>
      byNri(plan) && plan.machines.some(({ powerLimit }) => powerLimit !== undefined),
    sign: (seen, system) =>
      ofNri(seen, system, /power limit: nvidia-smi cannot switch persistence mode on/),
  },
} satisfies Signs;

/** Whether the operator brings the toolkit, and gives all cards by its NRI plugin. */
function byNri(plan: Plan): boolean {
  return hasGpu(plan) && plan.era === "nri" && plan.kubernetes.mode === "operator";
}

const ofNri = (seen: Observations, { era }: System, words: RegExp): Evidence[] =>
  era === "nri" ? matching(seen, words) : [];

function runtimeClassMissing(seen: Observations, system: System): Evidence[] {
  const { name, owner } = system.runtimeClass;
  if (owner !== "component" || seen.runtimeClasses?.some((known) => known.name === name)) return [];
  const refused = matching(
    seen,
    new RegExp(`runtimeclass(?:(?!runtimeclass)\\S)* "?${name}"? not found`, "i"),
  );
  // That it is not there says nothing by itself: the stack may not have come that far.
  return refused.length === 0 || seen.runtimeClasses === undefined
    ? refused
    : [...refused, `there is no RuntimeClass ${name}`];
}

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
const waitingPods = (seen: Observations, namespace: string | undefined): string[] =>
  (seen.pods ?? [])
    .filter((pod) => pod.namespace === namespace && pod.phase === "Pending")
    .flatMap(({ name: pod, initContainers = [] }) => {
      const waiter = initContainers.find(
        ({ name, state }) => waiters.includes(name) && state !== "terminated",
      );
      return waiter === undefined ? [] : [`Pod/${pod}: Init, ${waiter.name} does not end`];
    });

const validatorLabel = "nvidia.com/gpu.deploy.operator-validator";

function validatorAmiss(seen: Observations, system: System): string[] {
  if (system.mode !== "operator") return [];
  if (system.era === "legacy") return validatorRuns(seen, system);
  return system.era === undefined ? [] : validatorKeptAway(seen, system);
}

/** From Talos 1.13 on no other program writes the files: a label from 1.12 makes the operands wait forever. */
function validatorKeptAway(seen: Observations, { namespace }: System): string[] {
  const labelled = (seen.nodes ?? [])
    .filter(({ labels }) => labels[validatorLabel] === "false")
    .map(({ name }) => name);
  const pods = (seen.pods ?? []).filter(
    ({ node }) => node !== undefined && labelled.includes(node),
  );
  const waiting = waitingPods({ ...seen, pods }, namespace);
  return waiting.length === 0
    ? []
    : [`Node/${labelled.join(", ")}: labelled ${validatorLabel}=false`, ...waiting];
}

/** A validator that never ends, with files that are kept: without those, their lack is the finding. */
function validatorRuns(seen: Observations, system: System): string[] {
  if (!markerKeeper(seen)) return [];
  // Where the label is in force, a validator is one that is just being taken away.
  const allowed = (seen.nodes ?? [])
    .filter(({ labels }) => labels[validatorLabel] !== "false")
    .map(({ name }) => name);
  const pods = (seen.pods ?? []).filter(
    ({ name, node }) =>
      name.includes("operator-validator") && node !== undefined && allowed.includes(node),
  );
  return waitingPods({ ...seen, pods }, system.namespace);
}

const configLabel = "nvidia.com/mig.config";
const stateLabel = "nvidia.com/mig.config.state";

function notSplit({ nodes = [], pods = [] }: Observations, system: System): Evidence[] {
  const managerRuns = (on: string): boolean =>
    pods.some(
      ({ namespace, name, node, containers = [] }) =>
        namespace === system.namespace &&
        name.startsWith("nvidia-mig-manager") &&
        node === on &&
        containers.some((one) => one.name === "nvidia-mig-manager" && one.state === "running"),
    );
  return nodes.flatMap(({ name: node, labels: { [configLabel]: config, [stateLabel]: state } }) => {
    if (!config) return [];
    if (state === "failed")
      return [{ node, line: `node ${node}: ${stateLabel}=failed for ${config}` }];
    if (state !== undefined || !managerRuns(node)) return [];
    const line = `node ${node}: the MIG manager runs and says nothing about ${config}: no ${stateLabel}`;
    return [{ node, line }];
  });
}
