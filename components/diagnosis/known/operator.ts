import type { Plan } from "../../recipe/types";
import { needsMarkers } from "../../recipe/cluster/markers";
import { type Evidence, matching } from "../evidence";
import type { Observations } from "../observations";
import type { System } from "../system";
import { fixesOf, hasGpu } from "./known";

/** Fixes for NVIDIA's operator on Talos. */
export const operatorFixes = fixesOf({
  validationMarkers: {
    does: "a DaemonSet keeps the files driver-ready and toolkit-ready in /run/nvidia/validations, and the operator's validator does not run on the same nodes",
    symptom:
      "the operator's pods stay in Init:0/1, waiting for toolkit-validation; the node offers no nvidia.com/gpu",
    cause:
      "the operator's pods wait for files that the operator's driver and toolkit containers write. On Talos these containers do not run, because driver and toolkit are in the image. The operator's validator also writes such files, but does not find the driver on Talos ≤ 1.12",
    errors: [
      "Init:0/1",
      "waiting for nvidia container stack to be setup",
      "failed to validate the driver, retrying after 5 seconds",
    ],
    source: "gpu-operator#1687; gpu-operator, cmd/nvidia-validator/main.go",
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.injection, plan.kubernetes.mode),
    // The operator's pods wait for marker files that no program writes.
    sign: waitsForMarkers,
  },
  operatorValidatorLabel: {
    does: "GPU nodes have the label nvidia.com/gpu.deploy.operator-validator. On Talos ≤ 1.12 its value must be false, because the validator would delete the readiness files that another DaemonSet writes. On Talos ≥ 1.13 its value must be true, because the validator writes these files",
    symptom:
      "on Talos ≤ 1.12: the pod nvidia-operator-validator stays in Init:0/4 (failed to validate the driver, retrying after 5 seconds), and the operator's other pods wait in Init:0/1. On Talos ≥ 1.13: the operator's pods wait in Init:0/1, and no validator runs",
    cause:
      "on Talos ≤ 1.12 the validator looks for the driver in the wrong place. It deletes the file driver-ready at each start, and all readiness files when it ends. On Talos ≥ 1.13 the validator itself writes these files, and a label operator-validator=false that was set before the upgrade keeps the validator off the node",
    errors: ["Init:0/4", "failed to validate the driver, retrying after 5 seconds"],
    inForce:
      "remove the label nvidia.com/gpu.deploy.operator-validator from the node, and run `pulumi up --refresh`",
    source:
      "gpu-operator#1687; gpu-operator, cmd/nvidia-validator/main.go (driver-ready), assets/state-operator-validation",
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.injection, plan.kubernetes.mode),
    // The operator's validator runs on a node where it must not, or does not run where it must.
    sign: validatorProblems,
  },
  migManager: {
    does: "the MIG manager runs the release v0.12.3-ubuntu20.04, without the step that writes to the host and stops the host's services",
    symptom:
      "cards are not split into MIG devices: the label nvidia.com/mig.config.state is missing or becomes failed, and the smoke test's pod stays Pending",
    cause:
      "there are three causes. From v0.13 on the MIG manager waits forever for systemd, which Talos does not have. If an older manager assumes that the driver is on the host, the manager copies itself into /usr/local, which is read-only on Talos. Every release sets the state to failed if a card does not support the profile or is in use",
    errors: [
      "nvidia.com/mig.config.state=failed",
      "Updating to MIG config: all-…",
      "mkdir: cannot create directory ‘/host//usr/local/nvidia’: Read-only file system",
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ],
    inForce:
      "read the log of the pod nvidia-mig-manager, which shows the failed step. If a pod still uses the GPU, delete that pod. An A100 or A30 changes its MIG mode with the machine's next reboot. To make the manager retry, delete the manager's pod",
    source:
      "NVIDIA/mig-parted#356, #382; gpu-operator#2501; NVIDIA/mig-parted v0.12.3, deployments/container/reconfigure-mig.sh",
    usedBy: (plan) =>
      hasGpu(plan) && plan.kubernetes.mode === "operator" && plan.spec.sharing?.mig !== undefined,
    // The MIG manager's label, or its absence. States: NVIDIA/mig-parted, pkg/mig/reconfigure (pending, rebooting,
    // success, failed). A missing label counts only if the manager runs: otherwise something else blocks it.
    sign: notSplit,
  },
  operatorToolkit: {
    does: "on Talos ≥ 1.15 the GPU Operator, v26.7.0 or newer, installs the container toolkit, with CDI and the NRI plugin enabled",
    symptom:
      'every pod of the operator on the machine stays in Init or ContainerCreating: no runtime for "nvidia" is configured; the node offers no nvidia.com/gpu',
    cause:
      "from Talos 1.15 on NVIDIA's extension contains only the driver. With the chart values for 1.14 (toolkit.enabled: false and no NRI) the operator's pods use a RuntimeClass for which containerd has no runtime",
    errors: ['unable to get OCI runtime for sandbox "…": no runtime for "nvidia" is configured'],
    inForce: "remove `toolkit` and `cdi` from gpuOperator.values, and run `pulumi up --refresh`",
    source:
      "siderolabs/extensions#1222; gpu-operator v26.7.0, controllers/object_controls.go (setRuntimeClassName)",
    check: "operator-values",
    usedBy: byNri,
    // The operator's pods name a runtime that no machine has.
    sign: (observations, system) =>
      ofNri(observations, system, /no runtime for "nvidia" is configured/),
    hides: ["managementCards"],
    isUnderneath: true,
  },
  toolkitFolder: {
    does: "the operator's toolkit is installed below /var or /opt, where pods on Talos can write files and run programs",
    symptom:
      "nvidia-container-toolkit-daemonset does not start: mkdir /usr/local/nvidia: read-only file system; the operator's other pods wait for it",
    cause:
      "the operator installs the toolkit in the folder toolkit.installDir. The chart's default folder, /usr/local/nvidia, is on Talos' read-only root file system. The package therefore sets /var/lib/nvidia, unless gpuOperator.values sets another folder",
    errors: [
      'failed to apply OCI options: failed to mkdir "/usr/local/nvidia": mkdir /usr/local/nvidia: read-only file system',
    ],
    inForce:
      "remove `toolkit.installDir` from gpuOperator.values, or set it to a folder below /var or /opt. Then run `pulumi up --refresh`",
    source: "gpu-operator v26.7.0, deployments/gpu-operator/values.yaml; gpu-operator#2382",
    check: "operator-values",
    usedBy: byNri,
    sign: (observations, system) =>
      ofNri(observations, system, /mkdir \/usr\/local\/nvidia: read-only file system/),
    hides: ["managementCards"],
  },
  noRuntimeClass: {
    does: "on Talos ≥ 1.15 pods with a GPU have no runtimeClassName",
    symptom: 'a pod is not created: pod rejected: RuntimeClass "nvidia" not found',
    cause:
      "with the NRI plugin enabled, the operator deletes the RuntimeClass nvidia, because no machine has a runtime for it. A chart or manifest still sets runtimeClassName: nvidia",
    errors: ['is forbidden: pod rejected: RuntimeClass "nvidia" not found'],
    inForce: "remove runtimeClassName from the pod's chart or manifest",
    source: "gpu-operator v26.7.0, controllers/state_manager.go (isStateEnabled, pre-requisites)",
    usedBy: byNri,
    sign: (observations, system) =>
      ofNri(observations, system, /RuntimeClass "?nvidia"? not found/i),
  },
  managementCards: {
    does: "a pod that needs every GPU has the NRI plugin's annotation. Such a pod runs in the operator's namespace, or in a namespace that the toolkit's NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES lists",
    symptom:
      "the pod that sets the power limit ends again and again: nvidia-smi cannot switch persistence mode on",
    cause:
      "on Talos ≥ 1.15 no runtime gives a pod all cards. The NRI plugin of the operator's toolkit gives them to annotated pods, but silently ignores the annotation in namespaces that the toolkit does not list",
    errors: ["power limit: nvidia-smi cannot switch persistence mode on: is the driver loaded?"],
    inForce:
      "run `pulumi up --refresh`, which sets the annotation and the namespaces again. If another tool installs the operator, add the pod's namespace to NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES in the operator's toolkit.env",
    source:
      "nvidia-container-toolkit v1.20.1, cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go",
    check: "all-cards",
    usedBy: (plan) =>
      byNri(plan) && plan.machines.some(({ powerLimit }) => powerLimit !== undefined),
    sign: (observations, system) =>
      ofNri(observations, system, /power limit: nvidia-smi cannot switch persistence mode on/),
  },
});

/**
 * Whether the GPU Operator installs the container toolkit. Its NRI plugin then injects the devices, and gives all cards
 * to a pod that needs all of them.
 */
function byNri(plan: Plan): boolean {
  return hasGpu(plan) && plan.injection === "nri" && plan.kubernetes.mode === "operator";
}

const ofNri = (observations: Observations, { injection }: System, pattern: RegExp): Evidence[] =>
  injection === "nri" ? matching(observations, pattern) : [];

/** Init containers of the operator's pods that wait for the files in `/run/nvidia/validations` (marker files). */
const waiters = ["toolkit-validation", "driver-validation", "wait-for-driver-ready"];

function waitsForMarkers(
  observations: Observations,
  { namespace, mode, injection }: System,
): string[] {
  if (mode !== "operator" || injection !== "legacy") return [];
  return markerKeeper(observations) ? [] : waitingPods(observations, namespace);
}

/** Whether the stack's DaemonSet for the marker files exists and is ready on all of its nodes. */
function markerKeeper(observations: Observations): boolean {
  const daemonSet = (observations.daemonSets ?? []).find(({ name }) =>
    name.includes("validation-markers"),
  );
  return daemonSet !== undefined && daemonSet.desired > 0 && daemonSet.ready === daemonSet.desired;
}

/** The operator's pods that wait for marker files, one line each. */
const waitingPods = (observations: Observations, namespace: string | undefined): string[] =>
  (observations.pods ?? [])
    .filter((pod) => pod.namespace === namespace && pod.phase === "Pending")
    .flatMap(({ name: pod, initContainers = [] }) => {
      const waiter = initContainers.find(
        ({ name, state }) => waiters.includes(name) && state !== "terminated",
      );
      return waiter === undefined ? [] : [`Pod/${pod}: init container ${waiter.name} does not end`];
    });

const validatorLabel = "nvidia.com/gpu.deploy.operator-validator";

function validatorProblems(observations: Observations, system: System): string[] {
  if (system.mode !== "operator") return [];
  if (system.injection === "legacy") return validatorRuns(observations, system);
  return system.injection === undefined ? [] : validatorKeptAway(observations, system);
}

/**
 * Signs that a node still has the label that keeps the operator's validator off nodes with Talos up to 1.12. From Talos
 * 1.13 on only the validator writes the marker files, so the operands on that node wait forever.
 */
function validatorKeptAway(observations: Observations, { namespace }: System): string[] {
  const labelled = (observations.nodes ?? [])
    .filter(({ labels }) => labels[validatorLabel] === "false")
    .map(({ name }) => name);
  const pods = (observations.pods ?? []).filter(
    ({ node }) => node !== undefined && labelled.includes(node),
  );
  const waiting = waitingPods({ ...observations, pods }, namespace);
  return waiting.length === 0
    ? []
    : [`Node/${labelled.join(", ")}: labelled ${validatorLabel}=false`, ...waiting];
}

/**
 * Signs that the operator's validator waits forever on Talos up to 1.12, although the stack's DaemonSet writes the
 * marker files. Without that DaemonSet, the fix `validationMarkers` reports the missing files.
 */
function validatorRuns(observations: Observations, system: System): string[] {
  if (!markerKeeper(observations)) return [];
  // On a node with the label, a validator pod is just being removed.
  const allowed = (observations.nodes ?? [])
    .filter(({ labels }) => labels[validatorLabel] !== "false")
    .map(({ name }) => name);
  const pods = (observations.pods ?? []).filter(
    ({ name, node }) =>
      name.includes("operator-validator") && node !== undefined && allowed.includes(node),
  );
  return waitingPods({ ...observations, pods }, system.namespace);
}

const configLabel = "nvidia.com/mig.config";
const stateLabel = "nvidia.com/mig.config.state";

function notSplit({ nodes = [], pods = [] }: Observations, system: System): Evidence[] {
  const managerRuns = (nodeName: string): boolean =>
    pods.some(
      ({ namespace, name, node, containers = [] }) =>
        namespace === system.namespace &&
        name.startsWith("nvidia-mig-manager") &&
        node === nodeName &&
        containers.some(
          (candidate) => candidate.name === "nvidia-mig-manager" && candidate.state === "running",
        ),
    );
  return nodes.flatMap(({ name: node, labels: { [configLabel]: config, [stateLabel]: state } }) => {
    if (!config) return [];
    if (state === "failed")
      return [{ node, line: `node ${node}: ${stateLabel}=failed for ${config}` }];
    if (state !== undefined || !managerRuns(node)) return [];
    const line = `node ${node}: the MIG manager runs, but has not set ${stateLabel} for ${config}`;
    return [{ node, line }];
  });
}
