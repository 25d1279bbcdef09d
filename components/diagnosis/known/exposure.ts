import { needsMarkers } from "../../recipe/kubernetes/markers";
import { migManagerRelease } from "../../recipe/kubernetes/mig-manager";
import { type Evidence, matching } from "../evidence";
import type { Observations, ObservedNode, ObservedPod } from "../observations";
import type { System } from "../system";
import { type Fixes, hasGpu } from "./known";

/** What exposes the GPUs to Kubernetes. */
export const exposureFixes = {
  privilegedNamespace: {
    does: "the release's namespace is labelled pod-security.kubernetes.io/enforce=privileged before anything is installed in it",
    symptom: 'pods are not created: violates PodSecurity "baseline:latest": hostPath volumes, privileged',
    cause: "Talos enforces the baseline profile in every namespace but kube-system, and NVIDIA's pods mount host paths",
    errors: ['pods "…" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volume "…")'],
    inForce:
      "run `pulumi up --refresh`, which labels the namespace again; then run `kubectl rollout restart` for each DaemonSet or Deployment without pods: after a refusal, a controller waits longer before each retry, up to 17 minutes",
    source: "siderolabs/docs, nvidia-gpu; talos, pkg/machinery/config/types/v1alpha1/generate (admission control)",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.namespaceLabels !== undefined,
    // Pods that are not created write no markers, label no node and fail no container.
    sign: (seen, { namespace }) => matching(seen, /violates PodSecurity/, namespace),
    causes: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
  },
  runtimeClass: {
    does: "a RuntimeClass nvidia with the handler nvidia is made before the device plugin",
    symptom: 'pods are refused: RuntimeClass "nvidia" not found',
    cause:
      "the standalone device plugin's chart brings no RuntimeClass, and only containers of the handler nvidia get the driver's libraries",
    errors: ['pods "…" is forbidden: pod rejected: RuntimeClass "nvidia" not found'],
    source: "siderolabs/docs, nvidia-gpu; k8s-device-plugin, deployments/helm/nvidia-device-plugin",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.runtimeClass.owner === "component",
    // Pods are refused as their RuntimeClass is not there.
    sign: runtimeClassMissing,
    causes: ["validationMarkers"],
  },
  deviceListStrategy: {
    does: "the device plugin has DEVICE_LIST_STRATEGY=envvar (singular, not envvars)",
    symptom:
      "the device plugin is in CrashLoopBackOff: invalid --device-list-strategy option: invalid strategy: envvars; the node offers no nvidia.com/gpu",
    cause:
      "the plugin knows envvar, volume-mounts, cdi-annotations and cdi-cri only, and on Talos ≤ 1.12 the first one is what works; the plural is a common slip",
    source: "k8s-device-plugin, api/config/v1/consts.go and strategy.go",
    usedBy: (plan) => hasGpu(plan) && plan.era === "legacy",
    // The device plugin says that it does not know its strategy.
    sign: (seen, { namespace }) => matching(seen, /invalid (--device-list-strategy option|strategy)/, namespace),
  },
  validationMarkers: {
    does: "a DaemonSet keeps driver-ready and toolkit-ready under /run/nvidia/validations, and the operator's validator stays off those nodes",
    symptom: "the operator's pods stay in Init:0/1, waiting for toolkit-validation; the node offers no nvidia.com/gpu",
    cause:
      "the operator's pods wait for files that the operator's driver and toolkit containers write; on Talos these containers do not run, since driver and toolkit are in the image. The operator's validator, which also writes such files, looks for the driver where Talos ≤ 1.12 does not have it",
    errors: [
      "Init:0/1",
      "waiting for nvidia container stack to be setup",
      "failed to validate the driver, retrying after 5 seconds",
    ],
    source: "gpu-operator#1687; gpu-operator, cmd/nvidia-validator/main.go",
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.era, plan.kubernetes.mode),
    // The operator's pods wait for marker files that nobody writes.
    sign: waitsForMarkers,
  },
  operatorValidatorLabel: {
    does: "GPU nodes have the label nvidia.com/gpu.deploy.operator-validator: false on Talos ≤ 1.12, where another DaemonSet writes the readiness files and the operator's validator would delete them; true on Talos ≥ 1.13, where the validator writes them",
    symptom:
      "the pod nvidia-operator-validator stays in Init:0/4: failed to validate the driver, retrying after 5 seconds; operands that start meanwhile wait in Init:0/1; or, on Talos ≥ 1.13, operands wait in Init:0/1 and there is no validator",
    cause:
      "on Talos ≤ 1.12 the validator looks for the driver in the wrong place; it deletes the file driver-ready at each start, and all readiness files when it ends. On Talos ≥ 1.13 the validator itself writes these files, and a label operator-validator=false from before the upgrade keeps it off the node",
    errors: ["Init:0/4", "failed to validate the driver, retrying after 5 seconds"],
    inForce: "take any label of your own away from the node, and run `pulumi up --refresh`",
    source:
      "gpu-operator#1687; gpu-operator, cmd/nvidia-validator/main.go (driver-ready), assets/state-operator-validation",
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.era, plan.kubernetes.mode),
    // The operator's validator runs where it must not, or does not where it must.
    sign: validatorAmiss,
  },
  migManager: {
    does: `the MIG manager has the release ${migManagerRelease}, and starts without the part that writes to the host and stops its services`,
    symptom:
      "cards are not split: nvidia.com/mig.config.state stays away or becomes failed, and the smoke test's pod stays Pending",
    cause:
      "there are three causes: from v0.13 on the MIG manager waits forever for systemd, which Talos does not have; an older one that assumes a driver on the host copies itself into /usr/local, which is read-only on Talos; and every release sets the state failed when a card does not have the profile or is in use",
    errors: [
      "nvidia.com/mig.config.state=failed",
      "Updating to MIG config: all-…",
      "mkdir: cannot create directory ‘/host//usr/local/nvidia’: Read-only file system",
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ],
    inForce:
      "read the log of the pod nvidia-mig-manager: it says which step failed; a GPU that a pod still uses is free after `kubectl delete pod`, an A100 or A30 changes its MIG mode with the machine's next reboot, and the manager tries again when its pod is deleted",
    source:
      "NVIDIA/mig-parted#356, #382; gpu-operator#2501; NVIDIA/mig-parted v0.12.3, deployments/container/reconfigure-mig.sh",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.mode === "operator" && plan.spec.sharing?.mig !== undefined,
    // The MIG manager's own word, or its silence. States: NVIDIA/mig-parted, pkg/mig/reconfigure (pending, rebooting, success,
    // failed). Silence counts only from a manager that runs: before, something else keeps it.
    sign: notSplit,
  },
} satisfies Fixes;

function runtimeClassMissing(seen: Observations, system: System): Evidence[] {
  const { name, owner } = system.runtimeClass;
  if (owner !== "component" || seen.runtimeClasses?.some((known) => known.name === name)) return [];
  const refused = matching(seen, new RegExp(`runtimeclass\\S* "?${name}"? not found`, "i"));
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
