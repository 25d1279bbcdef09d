import { usesContainerCli } from "../../recipe/facts/talos-release";
import { factsOf } from "../../recipe/machine/apart";
import { taintsOf } from "../../recipe/machine/taints";
import { type Fixes, hasGpu } from "./fix";

/** What a machine is given: its configuration, and its node's taints. */
export const machineFixes = {
  kernelModules: {
    does: "machine.kernel.modules names nvidia, nvidia_uvm, nvidia_drm and nvidia_modeset",
    symptom:
      "the extension is installed but no driver runs: no nvidia in /proc/modules, ext-nvidia-persistenced keeps waiting",
    cause:
      "the extension blacklists the modules, so nothing loads them unless the configuration declares them; Talos waits for the service for 70 minutes, and then reboots, again and again",
    errors: [
      "nvidia-container-cli: initialization error: nvml error: driver not loaded",
      'Waiting for file "/sys/bus/pci/drivers/nvidia" to exist',
    ],
    source: "siderolabs/extensions, nvidia-gpu/nvidia-modules/production/files/nvidia.conf; talos#7008, talos#14373",
    usedBy: hasGpu,
  },
  bpfJitHarden: {
    does: "machine.sysctls sets net.core.bpf_jit_harden to 1",
    symptom:
      "GPU containers are not created: bpf_prog_query / load program: invalid argument: last insn is not an exit or jmp",
    cause:
      "Talos' kernel hardening (2) refuses the BPF device filter that nvidia-container-cli of Talos ≤ 1.11 loads; later toolkits have none",
    errors: [
      "nvidia-container-cli: mount error: failed to create device filter",
      "load program: invalid argument: last insn is not an exit or jmp",
    ],
    source:
      "siderolabs/extensions#101; siderolabs/extensions, nvidia-gpu/nvidia-container-toolkit/README.md at v1.11.5; nvidia-container-toolkit v1.18.0, internal/info/auto.go",
    usedBy: (plan) =>
      hasGpu(plan) && usesContainerCli(plan.spec.talosVersion, factsOf(plan.spec, plan.spec.talosVersion)),
  },
  taintThroughApi: {
    does: "the stack sets taints through the Kubernetes API; registerWithTaints sets them again when a node registers again",
    symptom: "the node does not have its taint, and pods that do not belong there take the GPU machine",
    cause:
      "a worker may not change its own taints: NodeRestriction refuses machine.nodeTaints on a node that is registered already, and with it every label that Talos sets in the same update",
    source: "Kubernetes NodeRestriction; talos#8193, talos#10935",
    usedBy: (plan) =>
      Object.values(plan.spec.machines).some((machine) => machine.role === "worker" && taintsOf(machine).length > 0),
  },
  perMachinePatch: {
    does: "a machine's containerd part is composed into one item of machine.files, in a patch of that machine alone",
    symptom:
      "the machine boots, pauses and reboots again and again: CRI and kubelet do not start, and its node is NotReady or never joins",
    cause:
      "a patch of the whole cluster and a patch of the machine both create /etc/cri/conf.d/20-customization.part. Patches append to machine.files, so the list has the file twice, and Talos cannot create its resource for the file a second time. The boot pauses for 35 minutes (5 before v1.12.9, and from v1.13.0 to v1.13.4), and then starts again, with the image of before where it was the first boot of an upgrade",
    errors: [
      "resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists",
      "writeUserFiles failed, rebooting in 35 minutes. You can use talosctl apply-config or talosctl edit mc to fix the issues",
    ],
    inForce: "remove the cluster's patch that writes the file too; the corrected configuration then ends the pause",
    source:
      "talos, v1alpha1_sequencer_tasks.go (WriteUserFiles, injectCRIConfigPatch, pauseOnFailure) and pkg/machinery/config/merge",
    // Adopting merges files by their path.
    usedBy: ({ machines }) =>
      machines.some(({ configuration, containerdPart }) => configuration !== "adopted" && containerdPart !== undefined),
    check: "containerd-part",
  },
} satisfies Fixes;
