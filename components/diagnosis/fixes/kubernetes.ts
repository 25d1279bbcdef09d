import { needsMarkers } from "../../recipe/kubernetes/markers";
import { migManagerRelease } from "../../recipe/kubernetes/mig-manager";
import type { ClusterSpec } from "../../recipe/spec/index";
import { taintsOf } from "../../recipe/machine/taints";
import type { NodeTaint } from "../../recipe/types";
import { type Fixes, hasGpu } from "./fix";

/** What exposes the GPUs to Kubernetes. */
export const kubernetesFixes = {
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
  },
  nodeSelector: {
    does: "what must run on GPU nodes selects them by nvidia.com/gpu.present=true, and workloads by the resource that they request",
    symptom:
      "a DaemonSet wants 0 pods (DESIRED 0), or a pod stays Pending: node(s) didn't match Pod's node affinity/selector",
    cause:
      "the selector asks for a label that no node has, or no longer has, such as a role that somebody once set by hand",
    errors: ["0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.", "DESIRED   0"],
    inForce: "take stale labels out of your own selectors, and run `pulumi up --refresh`",
    source: "Kubernetes: a pod whose node selector fits no node is not scheduled; k8s-device-plugin, chart values",
    usedBy: hasGpu,
    check: "pod-node-selector",
  },
  privilegedNamespace: {
    does: "the release's namespace is labelled pod-security.kubernetes.io/enforce=privileged before anything is installed in it",
    symptom: 'pods are not created: violates PodSecurity "baseline:latest": hostPath volumes, privileged',
    cause: "Talos enforces the baseline profile in every namespace but kube-system, and NVIDIA's pods mount host paths",
    errors: ['pods "…" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volume "…")'],
    inForce:
      "run `pulumi up --refresh`, which labels the namespace again; then run `kubectl rollout restart` for each DaemonSet or Deployment without pods: after a refusal, a controller waits longer before each retry, up to 17 minutes",
    source: "siderolabs/docs, nvidia-gpu; talos, pkg/machinery/config/types/v1alpha1/generate (admission control)",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.namespaceLabels !== undefined,
  },
  runtimeClass: {
    does: "a RuntimeClass nvidia with the handler nvidia is made before the device plugin",
    symptom: 'pods are refused: RuntimeClass "nvidia" not found',
    cause:
      "the standalone device plugin's chart brings no RuntimeClass, and only containers of the handler nvidia get the driver's libraries",
    errors: ['pods "…" is forbidden: pod rejected: RuntimeClass "nvidia" not found'],
    source: "siderolabs/docs, nvidia-gpu; k8s-device-plugin, deployments/helm/nvidia-device-plugin",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.runtimeClass.owner === "component",
  },
  gpuPresentLabel: {
    does: "GPU nodes are labelled nvidia.com/gpu.present=true",
    symptom: "the device plugin's DaemonSet wants 0 pods and the node offers no nvidia.com/gpu",
    cause:
      "the chart's affinity asks for a label that Node Feature Discovery would set, and the standalone plugin comes without it",
    errors: ["DESIRED   0", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."],
    source: "k8s-device-plugin#1213; talos#12103",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.mode === "devicePlugin",
  },
  deviceListStrategy: {
    does: "the device plugin has DEVICE_LIST_STRATEGY=envvar (singular, not envvars)",
    symptom:
      "the device plugin is in CrashLoopBackOff: invalid --device-list-strategy option: invalid strategy: envvars; the node offers no nvidia.com/gpu",
    cause:
      "the plugin knows envvar, volume-mounts, cdi-annotations and cdi-cri only, and on Talos ≤ 1.12 the first one is what works; the plural is a common slip",
    source: "k8s-device-plugin, api/config/v1/consts.go and strategy.go",
    usedBy: (plan) => hasGpu(plan) && plan.era === "legacy",
  },
  tolerations: {
    does: "NVIDIA's pods, the gate and the workloads tolerate the taints of the GPU machines",
    symptom:
      "the device plugin's DaemonSet wants 0 pods, or pods stay Pending: node(s) had untolerated taint; the node offers no nvidia.com/gpu",
    cause: "the charts tolerate nvidia.com/gpu:NoSchedule alone, and a machine of this stack has a taint of its own",
    source: "k8s-device-plugin and gpu-operator charts, values.yaml (tolerations); k8s-device-plugin#1934",
    usedBy: (plan) => hasGpu(plan) && excludingTaints(plan.spec).length > 0,
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
  },
} satisfies Fixes;

/** Taints of the GPU machines that keep pods away. */
function excludingTaints(spec: ClusterSpec): NodeTaint[] {
  return Object.values(spec.machines)
    .filter((machine) => (machine.gpus ?? []).length > 0)
    .flatMap(taintsOf)
    .filter((taint) => taint.effect !== "PreferNoSchedule");
}
