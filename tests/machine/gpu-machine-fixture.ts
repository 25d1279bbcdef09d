import type { GpuMachineArgs, GpuMachineRecipe } from "../../components/machine";
import { machineSecrets, talosconfig } from "../support/talos";

export const SCHEMATIC = "c".repeat(64);
export const recipe: GpuMachineRecipe = {
  schematic: "customization: {}\n",
  schematicId: SCHEMATIC,
  installerImage: `factory.talos.dev/metal-installer/${SCHEMATIC}:v1.12.6`,
  talosVersion: "v1.12.6",
  driverVersion: "570.211.01",
  kernelModules: [{ name: "nvidia" }, { name: "nvidia_uvm" }],
  patches: ["machine: {kernel: {modules: [{name: nvidia}]}}\n"],
  nodeLabels: { "nvidia.com/gpu.present": "true" },
  nodeTaints: [{ key: "gpu", value: "true", effect: "NoSchedule" }],
  extensionServices: [{ name: "ext-nvidia-persistenced", state: "Running" }],
};
/** Values that must be in no input that is not secret. */
export const SECRETS = ["kubeconfig-content", "bG9uZy1zZWNyZXQ", "zp8du1.0gn7ja4tmx6qulju", "CONFIGURATION-WITH-KEYS"];
export const args = (more: Partial<GpuMachineArgs> = {}): GpuMachineArgs => ({
  address: "10.0.0.1",
  role: "worker",
  configuration: "owned",
  talosVersion: "v1.12.6",
  kubernetesVersion: "v1.35.0",
  clusterName: "lab",
  clusterEndpoint: "https://10.0.0.10:6443",
  recipe,
  talosconfig,
  machineSecrets,
  kubeconfig: "clusters: [{ name: kubeconfig-content }]\n",
  ...more,
});
