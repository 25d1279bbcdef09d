import type { FixId } from "./fix-ids";
import { cudaFloor } from "./cuda";
import { needsMarkers } from "./markers";
import { migManagerRelease } from "./mig-manager";
import type { ClusterSpec } from "./spec";
import { taintsOf } from "./taints";
import type { NodeTaint, Plan } from "./types";
import { compareDotted } from "./version";

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
  /** Name of the check that refuses a stack without it at preview; absent where only the running system shows it. */
  check?: string;
  /** What to do where the fix is in force and the same is seen all the same; absent where somebody must have undone it. */
  inForce?: string;
  /** What the failure prints, word for word, for who searches for it. `…` stands for what differs. */
  errors?: string[];
}

const hasGpu = (plan: Plan): boolean => plan.machines.some((machine) => machine.gpuCount > 0);

const isOlderThan = (driver: string | undefined, floor: string | undefined): boolean =>
  driver !== undefined && floor !== undefined && compareDotted(driver, floor) < 0;

/** The fixes, each with what happens without it. */
export const fixes: Fix[] = [
  {
    id: "validationMarkers",
    does: "a DaemonSet keeps driver-ready and toolkit-ready under /run/nvidia/validations, and the operator's validator stays off those nodes",
    symptom: "the operator's pods stay in Init:0/1, waiting for toolkit-validation; the node offers no nvidia.com/gpu",
    cause:
      "Talos brings driver and toolkit, so nobody writes the files that the operator's pods wait for, and its validator looks for the driver where Talos ≤ 1.12 does not have it",
    errors: [
      "Init:0/1",
      "waiting for nvidia container stack to be setup",
      "failed to validate the driver, retrying after 5 seconds",
    ],
    remedy: "take validationMarkers out of `without`",
    source: "gpu-operator#1687; gpu-operator, cmd/nvidia-validator/main.go",
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.era, plan.kubernetes.mode),
  },
  {
    id: "operatorValidatorLabel",
    does: "GPU nodes are labelled nvidia.com/gpu.deploy.operator-validator=false, so that the operator's validator does not run beside the marker files; from Talos 1.13 on =true, since there it writes them",
    symptom:
      "the pod nvidia-operator-validator stays in Init:0/4: failed to validate the driver, retrying after 5 seconds; operands that start meanwhile wait in Init:0/1; or, on Talos ≥ 1.13, operands wait in Init:0/1 and there is no validator",
    cause:
      "the validator looks for the driver where Talos ≤ 1.12 does not have it, and deletes driver-ready each time it starts and every marker when it ends; on Talos ≥ 1.13 it is the one to write them, and a label =false of former days keeps it away",
    errors: ["Init:0/4", "failed to validate the driver, retrying after 5 seconds"],
    remedy: "take operatorValidatorLabel out of `without`, and any label of your own away from the node",
    source:
      "gpu-operator#1687; gpu-operator, cmd/nvidia-validator/main.go (driver-ready), assets/state-operator-validation",
    usedBy: (plan) => hasGpu(plan) && needsMarkers(plan.era, plan.kubernetes.mode),
  },
  {
    id: "modelsPull",
    does: "a Job asks the running ollama to pull its models, instead of a postStart hook in its container",
    symptom:
      "ollama's container is killed seconds after its start, again and again: FailedPostStartHook, nvidia-container-cli: initialization error: init 250 result=11",
    cause:
      "a hook's exec runs nvidia-container-cli anew, which fails on Talos ≤ 1.12, and Kubernetes kills a container whose postStart hook fails",
    errors: [
      "FailedPostStartHook",
      "PostStartHookError",
      "nvidia-container-cli: initialization error: init 250 result=11",
    ],
    remedy: "take modelsPull out of `without`, or set workloads.ollama.pullBy to job",
    source: "siderolabs/extensions#940; ollama-helm#68, #100",
    usedBy: (plan) => plan.era === "legacy" && (plan.spec.workloads?.ollama?.models ?? []).length > 0,
    check: "ollama-pull",
  },
  {
    id: "nodeSelector",
    does: "what must run on GPU nodes selects them by nvidia.com/gpu.present=true, and workloads by the resource that they request",
    symptom:
      "a DaemonSet wants 0 pods (DESIRED 0), or a pod stays Pending: node(s) didn't match Pod's node affinity/selector",
    cause: "the selector asks for a label that no node has (any more), such as a role that was once given by hand",
    errors: ["0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.", "DESIRED   0"],
    remedy: "take nodeSelector out of `without`, and stale labels out of your own selectors",
    source: "Kubernetes: a pod whose node selector fits no node is not scheduled; k8s-device-plugin, chart values",
    usedBy: hasGpu,
    check: "pod-node-selector",
  },
  {
    id: "schematic",
    does: "a machine is upgraded when its release or its schematic is not the wanted one",
    symptom:
      "the machine runs the wanted Talos release, but no driver: kernel modules not loaded, no NVIDIA extension in `talosctl get extensions`",
    cause:
      "extensions come with the image: a machine of the same release with another schematic has none of them, and comparing releases alone calls it done",
    errors: ["kernel modules not loaded: nvidia, nvidia_uvm, nvidia_drm, nvidia_modeset", "no NVIDIA driver is loaded"],
    remedy:
      "take schematic out of `without`; by hand: `talosctl upgrade` with the installer image that machine.install.image names",
    source:
      "talos, Image Factory and system extensions: extensions are part of the boot image (siderolabs/docs, system-extensions)",
    // Omni compares and upgrades its machines itself.
    usedBy: ({ machines }) => machines.some(({ gpuCount, configuration }) => gpuCount > 0 && configuration !== "omni"),
  },
  {
    id: "driverBranches",
    does: "kernel modules and container toolkit are taken from one branch, lts or production",
    symptom:
      "GPU containers do not start: nvml error: driver/library version mismatch (API mismatch in the kernel's log)",
    cause:
      "the driver's libraries are in the container toolkit's extension, and must be of the very version of the kernel modules",
    errors: [
      "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
      "Failed to initialize NVML: Driver/library version mismatch",
      "NVRM: API mismatch",
    ],
    remedy:
      "take driverBranches out of `without`, and NVIDIA's extensions out of machines.<name>.extensions: driver.branch chooses both",
    source:
      "siderolabs/extensions, nvidia-gpu; NVIDIA/open-gpu-kernel-modules, README (user-space components must match)",
    usedBy: hasGpu,
    check: "driver-branches",
  },
  {
    id: "cudaImage",
    does: "images follow from the newest CUDA that every GPU machine's driver runs",
    symptom: "CUDA programs fail: CUDA driver version is insufficient for CUDA runtime version",
    cause:
      "the image is of a CUDA major whose oldest driver (12: 525.60.13, 13: 580.65.06) is newer than the machine's",
    errors: [
      "CUDA driver version is insufficient for CUDA runtime version",
      "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=…, please update your driver to a newer version",
    ],
    remedy:
      "take cudaImage out of `without`, or name an image of an older CUDA (smokeTestImage, workloads.<name>.image)",
    source: "docs.nvidia.com/deploy/cuda-compatibility, minor version compatibility",
    usedBy: (plan) => plan.machines.some(({ driverVersion }) => isOlderThan(driverVersion, cudaFloor("13.0"))),
    check: "cuda-image",
  },
  {
    id: "privilegedNamespace",
    does: "the release's namespace is labelled pod-security.kubernetes.io/enforce=privileged before anything is installed in it",
    symptom: 'pods are not created: violates PodSecurity "baseline:latest": hostPath volumes, privileged',
    cause: "Talos enforces the baseline profile in every namespace but kube-system, and NVIDIA's pods mount host paths",
    errors: ['pods "…" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volume "…")'],
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
    errors: [
      "nvidia-container-cli: initialization error: nvml error: driver not loaded",
      'Waiting for file "/sys/bus/pci/drivers/nvidia" to exist',
    ],
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
    errors: ['pods "…" is forbidden: pod rejected: RuntimeClass "nvidia" not found'],
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
    errors: [
      "nvidia-container-cli: mount error: failed to create device filter",
      "load program: invalid argument: last insn is not an exit or jmp",
    ],
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
    errors: ["DESIRED   0", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."],
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
  {
    id: "perMachinePatch",
    does: "a machine's containerd part is composed into one item of machine.files, in a patch of that machine alone",
    symptom:
      "the machine boots, pauses and reboots again and again: CRI and kubelet do not start, and its node is NotReady or never joins",
    cause:
      "a patch of the whole cluster and the machine's own both create /etc/cri/conf.d/20-customization.part: patches append to machine.files, Talos makes a resource of the file and cannot make it a second time, so the boot pauses for 35 minutes (5 before v1.12.9, and from v1.13.0 to v1.13.4) and starts anew",
    errors: [
      "resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists",
      "writeUserFiles failed, rebooting in 35 minutes. You can use talosctl apply-config or talosctl edit mc to fix the issues",
    ],
    remedy:
      "take perMachinePatch out of `without`; on a machine that loops already, take the cluster's patch away, and the corrected configuration ends the pause",
    source:
      "talos, v1alpha1_sequencer_tasks.go (WriteUserFiles, injectCRIConfigPatch, pauseOnFailure) and pkg/machinery/config/merge",
    // Adopting merges files by their path.
    usedBy: ({ machines }) =>
      machines.some(({ configuration, containerdPart }) => configuration !== "adopted" && containerdPart !== undefined),
    check: "per-machine-patch",
  },
  {
    id: "migManager",
    does: `the MIG manager is ${migManagerRelease}, and is told that the driver is not the host's, so that it leaves the host alone`,
    symptom:
      "cards are not split: nvidia.com/mig.config.state stays away or becomes failed, and the smoke test's pod stays Pending",
    cause:
      "the MIG manager from v0.13 on waits for ever for systemd, which Talos does not have; an older one that takes the driver for the host's copies itself into /usr/local, which Talos has read-only; and any sets failed when a card does not know the profile or is in use",
    errors: [
      "nvidia.com/mig.config.state=failed",
      "Updating to MIG config: all-…",
      "mkdir: cannot create directory ‘/host//usr/local/nvidia’: Read-only file system",
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ],
    remedy: "take migManager out of `without`",
    inForce:
      "read the log of the pod nvidia-mig-manager: it says which step failed; a GPU that a pod still uses is free after `kubectl delete pod`, an A100 or A30 changes its MIG mode with the machine's next reboot, and the manager tries again when its pod is deleted",
    source:
      "NVIDIA/mig-parted#356, #382; gpu-operator#2501; NVIDIA/mig-parted v0.12.3, deployments/container/reconfigure-mig.sh",
    usedBy: (plan) => hasGpu(plan) && plan.kubernetes.mode === "operator" && plan.spec.sharing?.mig !== undefined,
  },
];

/** Taints of the GPU machines that keep pods away. */
function excludingTaints(spec: ClusterSpec): NodeTaint[] {
  return Object.values(spec.machines)
    .filter((machine) => (machine.gpus ?? []).length > 0)
    .flatMap(taintsOf)
    .filter((taint) => taint.effect !== "PreferNoSchedule");
}
