import type { FixId } from "./fix-ids";
import { needsMarkers } from "./markers";
import type { ClusterSpec } from "./spec";
import { taintsOf } from "./taints";
import type { NodeTaint, Plan } from "./types";

/** Something that this package does because a system on Talos fails without it. */
export interface Fix {
  /** Name, for `without`. */
  id: FixId;
  /** What is done. */
  does: string;
  /** What is seen without it. */
  symptom: string;
  cause: string;
  remedy: string;
  source: string;
  /** Whether a stack's plan needs it, left out or not. */
  usedBy(plan: Plan): boolean;
}

const hasGpu = (plan: Plan): boolean => plan.machines.some((machine) => machine.gpuCount > 0);

/** The fixes, each with what happens without it. */
export const fixes: Fix[] = [
  {
    id: "validationMarkers",
    does: "a DaemonSet keeps driver-ready and toolkit-ready under /run/nvidia/validations, and the operator's validator stays off those nodes",
    symptom: "the operator's pods stay in Init:0/1, waiting for toolkit-validation; the node offers no nvidia.com/gpu",
    cause:
      "Talos brings driver and toolkit, so nobody writes the files that the operator's pods wait for, and its validator looks for the driver where Talos ≤ 1.12 does not have it",
    remedy: "take validationMarkers out of `without`",
    source: "gpu-operator#1687; gpu-operator, cmd/nvidia-validator/main.go",
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.era, plan.kubernetes.mode),
  },
  {
    id: "privilegedNamespace",
    does: "the release's namespace is labelled pod-security.kubernetes.io/enforce=privileged before anything is installed in it",
    symptom: 'pods are not created: violates PodSecurity "baseline:latest": hostPath volumes, privileged',
    cause: "Talos enforces the baseline profile in every namespace but kube-system, and NVIDIA's pods mount host paths",
    remedy: "take privilegedNamespace out of `without`",
    source: "siderolabs/docs, nvidia-gpu; talos, pkg/machinery/config/types/v1alpha1/generate (admission control)",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.namespaceLabels !== undefined,
  },
  {
    id: "kernelModules",
    does: "machine.kernel.modules names nvidia, nvidia_uvm, nvidia_drm and nvidia_modeset",
    symptom:
      "the extension is installed but no driver runs: no nvidia in /proc/modules, ext-nvidia-persistenced keeps waiting",
    cause: "the extension blacklists the modules, so nothing loads them unless the configuration declares them",
    remedy: "take kernelModules out of `without`",
    source: "siderolabs/extensions, nvidia-gpu/nvidia-modules/production/files/nvidia.conf; talos#7008",
    usedBy: hasGpu,
  },
  {
    id: "runtimeClass",
    does: "a RuntimeClass nvidia with the handler nvidia is made before the device plugin",
    symptom: 'pods are refused: RuntimeClass "nvidia" not found',
    cause:
      "the standalone device plugin's chart brings no RuntimeClass, and only containers of the handler nvidia get the driver's libraries",
    remedy: "take runtimeClass out of `without`",
    source: "siderolabs/docs, nvidia-gpu; k8s-device-plugin, deployments/helm/nvidia-device-plugin",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.runtimeClass.owner === "component",
  },
  {
    id: "bpfJitHarden",
    does: "machine.sysctls sets net.core.bpf_jit_harden to 1",
    symptom:
      "GPU containers are not created: bpf_prog_query / load program: invalid argument: last insn is not an exit or jmp",
    cause: "Talos' kernel hardening (2) refuses the BPF device filter that nvidia-container-cli of Talos ≤ 1.12 loads",
    remedy: "take bpfJitHarden out of `without`",
    source:
      "siderolabs/extensions#101; siderolabs/extensions, nvidia-gpu/nvidia-container-toolkit/README.md at v1.11.5",
    usedBy: (plan) => hasGpu(plan) && plan.era === "legacy",
  },
  {
    id: "gpuPresentLabel",
    does: "GPU nodes are labelled nvidia.com/gpu.present=true",
    symptom: "the device plugin's DaemonSet wants 0 pods and the node offers no nvidia.com/gpu",
    cause:
      "the chart's affinity asks for a label that Node Feature Discovery would set, and the standalone plugin comes without it",
    remedy: "take gpuPresentLabel out of `without`",
    source: "k8s-device-plugin#1213; talos#12103",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.mode === "devicePlugin",
  },
  {
    id: "deviceListStrategy",
    does: "the device plugin hands out devices by DEVICE_LIST_STRATEGY=envvar, in the singular",
    symptom:
      "the device plugin is in CrashLoopBackOff: invalid --device-list-strategy option: invalid strategy: envvars; the node offers no nvidia.com/gpu",
    cause:
      "the plugin knows envvar, volume-mounts, cdi-annotations and cdi-cri only, and on Talos ≤ 1.12 the first one is what works; the plural is a common slip",
    remedy: "take deviceListStrategy out of `without`",
    source: "k8s-device-plugin, api/config/v1/consts.go and strategy.go",
    usedBy: (plan) => hasGpu(plan) && plan.era === "legacy",
  },
  {
    id: "tolerations",
    does: "NVIDIA's pods, the gate and the workloads tolerate the taints of the GPU machines",
    symptom:
      "the device plugin's DaemonSet wants 0 pods, or pods stay Pending: node(s) had untolerated taint; the node offers no nvidia.com/gpu",
    cause: "the charts tolerate nvidia.com/gpu:NoSchedule alone, and a machine of this stack has a taint of its own",
    remedy: "take tolerations out of `without`",
    source: "k8s-device-plugin and gpu-operator charts, values.yaml (tolerations); k8s-device-plugin#1934",
    usedBy: (plan) => hasGpu(plan) && excludingTaints(plan.spec).length > 0,
  },
  {
    id: "taintThroughApi",
    does: "taints go onto the node through the Kubernetes API, and by registerWithTaints onto one that registers anew",
    symptom: "the node does not have its taint, and pods that do not belong there take the GPU machine",
    cause:
      "a worker may not change its own taints: NodeRestriction refuses machine.nodeTaints on a node that is registered already, and with it every label that Talos sets in the same update",
    remedy: "take taintThroughApi out of `without`",
    source: "Kubernetes NodeRestriction; talos#8193, talos#10935",
    usedBy: (plan) =>
      Object.values(plan.spec.machines).some((machine) => machine.role === "worker" && taintsOf(machine).length > 0),
  },
];

/** Taints of the GPU machines that keep pods away. */
function excludingTaints(spec: ClusterSpec): NodeTaint[] {
  return Object.values(spec.machines)
    .filter((machine) => (machine.gpus ?? []).length > 0)
    .flatMap(taintsOf)
    .filter((taint) => taint.effect !== "PreferNoSchedule");
}
