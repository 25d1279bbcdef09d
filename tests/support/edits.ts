import { applyMergePatch } from "../recipe/stacks";
import { readStackFile } from "../../stacks/stack-file";

/** A stack's configuration, as its file has it. */
export type StackConfig = Record<string, any>;

/** A user's edit of a stack, and whether its machines reboot. */
export interface Edit {
  /** Name in tests. If the edit has a page in tests/fixtures/plan-pages/edits, also the page's name. */
  name: string;
  stack: string;
  /** A JSON merge patch. */
  change: object;
  /** Whether each machine reboots, by node name. */
  reboots: Record<string, "yes" | "no" | "only if">;
}

/** Small edits of this repository's stacks, most of a single line. */
export const edits: Edit[] = [
  // tests/cli/plan compares the plan's page of an edit with the file of the edit's name in plan-pages/edits.
  {
    name: "driver-branch",
    stack: "rtx5070ti",
    change: { driver: { branch: "lts" } },
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "one-more-card",
    stack: "aarhus-h100",
    change: { machines: { "aarhus-h100": { gpus: [{ model: "H100 NVL", count: 3 }] } } },
    reboots: { "aarhus-h100": "no" },
  },
  {
    name: "first-card",
    stack: "modern",
    change: { machines: { control: { gpus: [{ model: "RTX 5090" }] } } },
    reboots: { control: "yes", gpu: "no" },
  },
  {
    name: "talos-patch",
    stack: "rtx5070ti",
    change: { talosVersion: "v1.12.7" },
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "talos-minor",
    stack: "velaryon",
    change: { talosVersion: "v1.12.6" },
    reboots: { velaryon: "yes" },
  },
  {
    name: "sharing",
    stack: "rtx3090",
    change: { sharing: { timeSlicing: { replicas: 8 } } },
    reboots: { rtx3090: "no" },
  },
  {
    name: "taint-changed",
    stack: "velaryon",
    change: { machines: { velaryon: { taints: { gpu: "yes:NoSchedule" } } } },
    reboots: { velaryon: "no" },
  },
  {
    name: "taint-added",
    stack: "rtx5070ti",
    change: { machines: { "k8s-worker4": { taints: { gpu: "true:NoSchedule" } } } },
    reboots: { "k8s-worker4": "no" },
  },
  {
    name: "taint-added-to-adopted",
    stack: "rtx3090",
    change: { machines: { rtx3090: { taints: { gpu: "true:NoSchedule" } } } },
    reboots: { rtx3090: "no" },
  },
  {
    name: "operator-to-plugin",
    stack: "rtx5070ti",
    change: { gpuOperator: null, devicePlugin: { version: "0.17.4" } },
    reboots: { "k8s-worker4": "no" },
  },
  {
    name: "plugin-to-operator",
    stack: "aarhus-h100",
    change: { devicePlugin: null, gpuOperator: { version: "v25.10.1" } },
    reboots: { "aarhus-h100": "no" },
  },
  {
    name: "operator-to-claims",
    stack: "modern",
    change: { gpuOperator: null, dra: { version: "0.5.0" } },
    reboots: { control: "no", gpu: "no" },
  },
  {
    name: "label",
    stack: "velaryon",
    change: { machines: { velaryon: { labels: { slot: "Y" } } } },
    reboots: { velaryon: "no" },
  },
  {
    name: "containerd-part",
    stack: "rtx5070ti",
    change: { machines: { "k8s-worker4": { containerd: { baseRuntimeSpec: true } } } },
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "comment-in-a-patch",
    stack: "modern",
    change: {
      machines: {
        gpu: { patches: ["# the fast disk\nmachine:\n  install:\n    disk: /dev/nvme0n1\n"] },
      },
    },
    reboots: { control: "no", gpu: "no" },
  },
  {
    name: "kernel-argument",
    stack: "rtx5070ti",
    change: { machines: { "k8s-worker4": { kernelArgs: ["pcie_aspm=off"] } } },
    reboots: { "k8s-worker4": "yes" },
  },
  {
    name: "sysctl-of-all",
    stack: "modern",
    change: { patches: ["machine:\n  sysctls:\n    vm.swappiness: '10'\n"] },
    reboots: { control: "no", gpu: "no" },
  },
  {
    name: "udev-rule-of-all",
    stack: "modern",
    change: { patches: ['machine:\n  udev:\n    rules:\n      - SUBSYSTEM=="drm"\n'] },
    reboots: { control: "yes", gpu: "yes" },
  },
  {
    name: "kubernetes-patch",
    stack: "rtx5070ti",
    change: { kubernetesVersion: "v1.35.1" },
    reboots: { "k8s-worker4": "no" },
  },
  {
    name: "kubernetes-patch-of-the-whole-cluster",
    stack: "modern",
    change: { kubernetesVersion: "v1.36.1" },
    reboots: { control: "no", gpu: "no" },
  },
  {
    name: "factory",
    stack: "rtx3090",
    change: { factoryUrl: "https://factory.example.net" },
    reboots: { rtx3090: "no" },
  },
  {
    name: "drain-off",
    stack: "rtx5070ti",
    change: { upgrade: { drain: false } },
    reboots: { "k8s-worker4": "no" },
  },
  {
    name: "address",
    stack: "velaryon",
    change: { machines: { velaryon: { address: "10.4.0.31" } } },
    reboots: { velaryon: "only if" },
  },
  {
    name: "extension-on-omni",
    stack: "frank",
    change: { machines: { "gpu-1": { extensions: ["siderolabs/iscsi-tools"] } } },
    reboots: { "gpu-1": "yes" },
  },
  {
    name: "sysctl-on-omni",
    stack: "frank",
    change: {
      machines: { "gpu-1": { patches: ["machine:\n  sysctls:\n    vm.swappiness: '10'\n"] } },
    },
    reboots: { "gpu-1": "no" },
  },
  {
    name: "containerd-part-on-omni",
    stack: "frank",
    change: { machines: { "gpu-1": { containerd: { nvidiaDefaultRuntime: false } } } },
    reboots: { "gpu-1": "yes" },
  },
];

/** A stack's configuration after an edit. */
export const editedStack = ({ stack, change }: Pick<Edit, "stack" | "change">): StackConfig =>
  applyMergePatch(readStackFile(stack), change) as StackConfig;
