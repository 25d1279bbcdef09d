import type { Observations } from "../../components/diagnosis";
import { planCluster } from "../../components/recipe/index";
import { validStack } from "../recipe/stacks";
import { ready } from "./as-planned";

export const plan = planCluster(validStack("rtx5070ti"));
export const namespace = "nvidia-gpu-operator";

export const node = (labels: Record<string, string> = {}): NonNullable<Observations["nodes"]>[number] => ({
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

export const keeper = { namespace, name: "nvidia-validation-markers", desired: 1, ready: 1 };

/** The operator's stack when all is well. */
export const healthy: Observations = {
  nodes: [node()],
  pods: [{ namespace, name: "gpu-operator-x", phase: "Running", node: "k8s-worker4", containers: [ready] }],
  daemonSets: [
    keeper,
    // The operator's own, which want no pods on Talos, and that is right.
    {
      namespace,
      name: "nvidia-mig-manager",
      desired: 0,
      ready: 0,
      nodeSelector: { "nvidia.com/gpu.deploy.mig-manager": "true" },
    },
  ],
  runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
  events: [],
  machines: [
    {
      name: "k8s-worker4",
      talosVersion: "v1.12.6",
      schematicId: plan.machines[0]!.schematicId,
      installImage: plan.machines[0]!.installerImage,
      modules: ["nvidia", "nvidia_uvm"],
      driverVersion: "570.211.01",
      services: { "ext-nvidia-persistenced": "Running" },
    },
  ],
};
