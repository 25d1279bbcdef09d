import type {
  Observations,
  ObservedMachine,
  ObservedNode,
  ObservedPod,
} from "../../../components/diagnosis";
import { planCluster } from "../../../components/recipe";
import { validStack } from "../../recipe/stacks";
import { readyContainer } from "../as-planned";

const operator = "nvidia-gpu-operator";

/** A pod that crashes again and again, on a node or not yet on one, with its last words. */
export const failingPod = (
  name: string,
  node: string | null,
  lastMessage: string,
): ObservedPod => ({
  namespace: "ollama",
  name,
  phase: "Running",
  ...(node === null ? {} : { node }),
  containers: [
    { name: "main", state: "waiting", ready: false, reason: "CrashLoopBackOff", lastMessage },
  ],
});

/** An operator's pod that waits in one of its init containers. */
export const waitingPod = (name: string, container: string): ObservedPod => ({
  namespace: operator,
  name,
  phase: "Pending",
  node: "k8s-worker4",
  initContainers: [{ name: container, state: "running", ready: false }],
  containers: [{ name: "main", state: "waiting", ready: false, reason: "PodInitializing" }],
});

/** The node of a system with the operator, with further labels. */
export const operatorNode = (labels: Record<string, string> = {}): ObservedNode => ({
  name: "k8s-worker4",
  osImage: "Talos (v1.12.6)",
  ready: true,
  allocatable: {},
  labels: {
    "extensions.talos.dev/nvidia-open-gpu-kernel-modules-production": "570.211.01-v1.12.6",
    "extensions.talos.dev/nvidia-container-toolkit-production": "570.211.01-v1.18.2",
    "nvidia.com/gpu.present": "true",
    "nvidia.com/gpu.deploy.operator-validator": "false",
    ...labels,
  },
});

const { schematicId, installerImage } = planCluster(validStack("rtx5070ti")).machines[0]!;

/** The machine of a healthy system with the operator. */
export const healthyMachine: ObservedMachine = {
  name: "k8s-worker4",
  talosVersion: "v1.12.6",
  schematicId,
  installImage: installerImage,
  modules: ["nvidia", "nvidia_uvm"],
  driverVersion: "570.211.01",
  services: { "ext-nvidia-persistenced": "Running" },
};

/** Observations of a healthy system with the operator. */
export const healthy = {
  nodes: [operatorNode()],
  pods: [
    {
      namespace: operator,
      name: "gpu-operator-x",
      phase: "Running",
      node: "k8s-worker4",
      containers: [readyContainer],
    },
  ],
  daemonSets: [
    { namespace: operator, name: "nvidia-validation-markers", desired: 1, ready: 1 },
    // A DaemonSet of the operator that correctly has no pods on Talos.
    {
      namespace: operator,
      name: "nvidia-mig-manager",
      desired: 0,
      ready: 0,
      nodeSelector: { "nvidia.com/gpu.deploy.mig-manager": "true" },
    },
  ],
  runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
  events: [],
  machines: [healthyMachine],
} satisfies Observations;

/** The same system while the plugin waits. It looks the same with and without a driver. */
export const waitingPlugin = {
  pods: [
    waitingPod("nvidia-device-plugin-daemonset-x", "toolkit-validation"),
    waitingPod("gpu-feature-discovery-x", "toolkit-validation"),
    waitingPod("nvidia-operator-validator-x", "driver-validation"),
  ],
  daemonSets: [
    { namespace: operator, name: "nvidia-device-plugin-daemonset", desired: 1, ready: 0 },
  ],
  nodes: [
    {
      name: "k8s-worker4",
      labels: { "nvidia.com/gpu.present": "true" },
      allocatable: {},
      ready: true,
    },
  ],
  machines: [
    { ...healthyMachine, modules: ["nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"] },
  ],
  runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
} satisfies Observations;
