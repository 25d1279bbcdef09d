import { stackSpec } from "./stacks";

/** Configuration of a stack, as data that an edit may change. */
export type Said = Record<string, any>;

/** An edit of a stack, as its owner makes it, and what comes of it. */
export interface Edit {
  /** Name in tests and of its golden file. */
  name: string;
  stack: string;
  edit: (said: Said) => void;
  /** Whether each machine reboots, by node name. */
  reboots: Record<string, "yes" | "no" | "only if">;
}

const machine = (said: Said, name: string): Said => said["machines"][name] as Said;

/** Edits of one line or so of the real stacks. */
export const edits: Edit[] = [
  {
    name: "driver-branch",
    stack: "rtx5070ti",
    edit: (said) => (said["driver"].branch = "lts"),
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "one-more-card",
    stack: "aarhus-h100",
    edit: (said) => (machine(said, "aarhus-h100")["gpus"][0].count = 3),
    reboots: { "aarhus-h100": "no" },
  },
  {
    name: "first-card",
    stack: "modern",
    edit: (said) => (machine(said, "control")["gpus"] = [{ model: "RTX 5090" }]),
    reboots: { control: "yes", gpu: "no" },
  },
  {
    name: "talos-patch",
    stack: "rtx5070ti",
    edit: (said) => (said["talosVersion"] = "v1.12.7"),
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "talos-minor",
    stack: "velaryon",
    edit: (said) => (said["talosVersion"] = "v1.12.6"),
    reboots: { velaryon: "yes" },
  },
  {
    name: "sharing",
    stack: "rtx3090",
    edit: (said) => (said["sharing"].timeSlicing.replicas = 8),
    reboots: { rtx3090: "no" },
  },
  {
    name: "taint-changed",
    stack: "velaryon",
    edit: (said) => (machine(said, "velaryon")["taints"] = { gpu: "yes:NoSchedule" }),
    reboots: { velaryon: "yes" },
  },
  {
    name: "taint-added",
    stack: "rtx5070ti",
    edit: (said) => (machine(said, "k8s-worker4")["taints"] = { gpu: "true:NoSchedule" }),
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "taint-added-to-adopted",
    stack: "rtx3090",
    edit: (said) => (machine(said, "rtx3090")["taints"] = { gpu: "true:NoSchedule" }),
    reboots: { rtx3090: "only if" },
  },
  {
    name: "operator-to-plugin",
    stack: "rtx5070ti",
    edit: (said) => {
      delete said["gpuOperator"];
      said["devicePlugin"] = { version: "0.17.4" };
    },
    reboots: { "k8s-worker4": "no" },
  },
  {
    name: "plugin-to-operator",
    stack: "aarhus-h100",
    edit: (said) => {
      delete said["devicePlugin"];
      said["gpuOperator"] = { version: "v25.10.1" };
    },
    reboots: { "aarhus-h100": "no" },
  },
  {
    name: "label",
    stack: "velaryon",
    edit: (said) => (machine(said, "velaryon")["labels"].slot = "Y"),
    reboots: { velaryon: "no" },
  },
  {
    name: "containerd-part",
    stack: "rtx5070ti",
    edit: (said) => (machine(said, "k8s-worker4")["containerd"] = { baseRuntimeSpec: true }),
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "comment-in-a-patch",
    stack: "modern",
    edit: (said) =>
      (machine(said, "gpu")["patches"] = ["# the fast disk\nmachine:\n  install:\n    disk: /dev/nvme0n1\n"]),
    reboots: { control: "no", gpu: "no" },
  },
  {
    name: "kernel-argument",
    stack: "rtx5070ti",
    edit: (said) => (machine(said, "k8s-worker4")["kernelArgs"] = ["pcie_aspm=off"]),
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "sysctl-of-all",
    stack: "modern",
    edit: (said) => (said["patches"] = ["machine:\n  sysctls:\n    vm.swappiness: '10'\n"]),
    reboots: { control: "no", gpu: "no" },
  },
  {
    name: "udev-rule-of-all",
    stack: "modern",
    edit: (said) => (said["patches"] = ['machine:\n  udev:\n    rules:\n      - SUBSYSTEM=="drm"\n']),
    reboots: { control: "yes", gpu: "yes" },
  },
  {
    name: "kubernetes-patch",
    stack: "rtx5070ti",
    edit: (said) => (said["kubernetesVersion"] = "v1.35.1"),
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "factory",
    stack: "rtx3090",
    edit: (said) => (said["factoryUrl"] = "https://factory.example.net"),
    reboots: { rtx3090: "no" },
  },
  {
    name: "drain-off",
    stack: "rtx5070ti",
    edit: (said) => (said["upgrade"] = { drain: false }),
    reboots: { "k8s-worker4": "no" },
  },
  {
    name: "address",
    stack: "velaryon",
    edit: (said) => (machine(said, "velaryon")["address"] = "10.4.0.31"),
    reboots: { velaryon: "only if" },
  },
  {
    name: "extension-on-omni",
    stack: "frank",
    edit: (said) => (machine(said, "gpu-1")["extensions"] = ["siderolabs/iscsi-tools"]),
    reboots: { "gpu-1": "yes" },
  },
  {
    name: "sysctl-on-omni",
    stack: "frank",
    edit: (said) => (machine(said, "gpu-1")["patches"] = ["machine:\n  sysctls:\n    vm.swappiness: '10'\n"]),
    reboots: { "gpu-1": "no" },
  },
  {
    name: "containerd-part-on-omni",
    stack: "frank",
    edit: (said) => (machine(said, "gpu-1")["containerd"].nvidiaDefaultRuntime = false),
    reboots: { "gpu-1": "yes" },
  },
];

/** What a stack says after an edit. */
export function edited({ stack, edit }: Pick<Edit, "stack" | "edit">): Said {
  const said = structuredClone(stackSpec(stack));
  edit(said);
  return said;
}
