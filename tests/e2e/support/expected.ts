/** The expected result of a stack in the lab. */
interface ExpectedResult {
  machines: Record<
    string,
    { talosVersion: string; driverVersion: string | null; gpus?: string; taints?: string[] }
  >;
  workloads: string[];
  /** The resource that `gpus` counts. Default: `nvidia.com/gpu`. */
  gpuResource?: string;
  /**
   * A later edit of the workloads, which changes no machine: a file of `stacks/`, and the workloads that then run.
   */
  workloadEdit?: { stack: string; workloads: string[] };
  /**
   * Differences between the stack's plan and that of the file that `talos-gpu discover` writes: facts that a
   * cluster does not show.
   */
  fieldsNotDiscovered?: string[];
  /**
   * Patterns of the preview's announcement for a machine, with Pulumi's own host: it runs the program in a
   * checkout, in a process of its own. Default: the program runs in the lab's process.
   */
  hostAnnouncements?: Record<string, string>;
  /** Whether all machines are emulated even if this computer can run real nodes. Default: false. */
  emulated?: boolean;
  /** Patterns of lines of the lab's output, in this order, among other lines. */
  outputPatterns?: string[];
}

/** The expected result of each stack of stacks/, by name, from its owner's description. */
export const expectedResults: Readonly<Record<string, ExpectedResult>> = {
  rtx5070ti: {
    machines: {
      "k8s-worker4": { talosVersion: "v1.12.6", driverVersion: "570.211.01", gpus: "1" },
    },
    workloads: ["comfyui/comfyui", "ollama/ollama"],
    // ComfyUI gets the card when ollama is scaled down.
    workloadEdit: { stack: "rtx5070ti-paints", workloads: ["comfyui/comfyui", "ollama/ollama"] },
    fieldsNotDiscovered: ["machines.k8s-worker4.configuration", "machines.k8s-worker4.patches"], // the cluster does not show whether a stack owns it
  },
  "aarhus-h100": {
    machines: {
      "aarhus-h100": { talosVersion: "v1.11.5", driverVersion: "570.172.08", gpus: "2" },
    },
    workloads: ["gpu-pods/nvidia-test", "vllm/vllm"],
    // vLLM splits a model over both cards once the test pod is gone.
    workloadEdit: { stack: "aarhus-h100-serves", workloads: ["vllm/vllm"] },
  },
  // Two cards with four slices each, and four pods on them.
  rtx3090: {
    machines: { rtx3090: { talosVersion: "v1.10.9", driverVersion: "570.148.08", gpus: "8" } },
    workloads: [
      "gpu-pods/gpu-test-1",
      "gpu-pods/gpu-test-2",
      "gpu-pods/gpu-test-3",
      "gpu-pods/gpu-test-4",
    ],
    // Sharing is in the release's values. The power limit is in a DaemonSet of the stack's own, which the stack's
    // label places on its nodes.
    fieldsNotDiscovered: [
      "kubernetes.release",
      "kubernetes.sharingConfig",
      "machines.rtx3090.allocatable",
      "machines.rtx3090.nodeLabels",
      "machines.rtx3090.powerLimit",
    ],
  },
  velaryon: {
    machines: {
      velaryon: {
        talosVersion: "v1.11.1",
        driverVersion: "535.247.01",
        gpus: "1",
        taints: ["gpu=true:NoSchedule"],
      },
    },
    workloads: ["nvidia/nvidia-test"],
    // Only the engine has the state, and the program that a preview starts must still read it.
    hostAnnouncements: { velaryon: "^reboots: only if it does not already run Talos v1\\.11\\.1" },
  },
  // The machines begin in maintenance mode, so their only reboot is that of the installation.
  modern: {
    machines: {
      control: {
        talosVersion: "v1.13.0",
        driverVersion: null,
        taints: ["node-role.kubernetes.io/control-plane:NoSchedule"],
      },
      gpu: { talosVersion: "v1.13.0", driverVersion: "595.58.03", gpus: "1" },
    },
    workloads: ["ollama/ollama"],
    fieldsNotDiscovered: [
      "machines.control.configuration",
      "machines.control.patches",
      "machines.gpu.configuration",
      "machines.gpu.patches",
    ],
    outputPatterns: [
      "gpu: its smoke test passed; a container next to it sees nvidia0, and asked for no card",
    ],
  },
  // The machine waits until Omni's owner adds it to the cluster, after its patches and extensions are in Omni.
  frank: {
    machines: { "gpu-1": { talosVersion: "v1.12.6", driverVersion: "570.211.01", gpus: "1" } },
    workloads: ["litellm/litellm", "ollama/ollama"],
    fieldsNotDiscovered: ["machines.gpu-1.uuid"], // the lab's hardware has its own ID
    outputPatterns: [
      "^✔ Talos machines: .*gpu-1 in maintenance mode, connected to Omni, in no cluster",
      "add the machine (\\S+) to the cluster frank in Omni",
      "the lab, as the owner of frank, adds the machine",
    ],
  },
  // The operator brings the toolkit; no pod names a RuntimeClass.
  next: {
    machines: { gpu: { talosVersion: "v1.15.0-beta.0", driverVersion: "595.112.07", gpus: "2" } },
    emulated: true, // Node Feature Discovery 0.19 is not built for a real node
    workloads: ["gpu-pods/nvidia-test", "ollama/ollama"],
    fieldsNotDiscovered: ["machines.gpu.nodeLabels", "machines.gpu.powerLimit"],
  },
  // Its cards are claimed: each workload is on the machine with the card that it requests.
  dra: {
    machines: {
      large: { talosVersion: "v1.13.9", driverVersion: "595.91.07", gpus: "2" },
      small: { talosVersion: "v1.13.9", driverVersion: "595.91.07", gpus: "1" },
    },
    gpuResource: "gpu.nvidia.com",
    outputPatterns: ["large: its smoke test passed$"],
    workloads: ["gpu-pods/nvidia-test", "ollama/ollama", "vllm/vllm"],
  },
  // One model over both machines, by LeaderWorkerSet's own controller.
  large: {
    machines: {
      "twin-1": { talosVersion: "v1.13.9", driverVersion: "595.91.07", gpus: "4" },
      "twin-2": { talosVersion: "v1.13.9", driverVersion: "595.91.07", gpus: "4" },
    },
    emulated: true, // pods of a group find each other only on emulated nodes
    workloads: ["vllm/vllm-group"],
    fieldsNotDiscovered: ["kubernetes.leaderWorkerSet"], // the workloads need it, but discover does not report them
  },
};
