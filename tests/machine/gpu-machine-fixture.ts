import type { GpuMachineArgs } from "../../components/machine/gpu-machine";
import type { Credentials } from "../../components/credentials/credentials";
import type { PlannedMachine } from "../../components/recipe/machine/planned-machine";
import { machineSecrets, talosconfig } from "../support/talos";

export const SCHEMATIC = "c".repeat(64);
/** An owned machine. */
export const plannedMachine: PlannedMachine = {
  name: "gpu-1",
  address: "10.0.0.1",
  role: "worker",
  configuration: "owned",
  injection: "legacy",
  gpuCount: 1,
  extensions: [],
  schematic: "customization: {}\n",
  schematicId: SCHEMATIC,
  installerImage: `factory.talos.dev/metal-installer/${SCHEMATIC}:v1.12.6`,
  talosVersion: "v1.12.6",
  contract: "v1.12.6",
  driverVersion: "570.211.01",
  kernelModules: [{ name: "nvidia" }, { name: "nvidia_uvm" }],
  sysctls: {},
  patches: ["machine: {kernel: {modules: [{name: nvidia}]}}\n"],
  nodeLabels: { "nvidia.com/gpu.present": "true" },
  nodeTaints: [{ key: "gpu", value: "true", effect: "NoSchedule" }],
  extensionServices: [{ name: "ext-nvidia-persistenced", state: "Running" }],
  allocatable: { "nvidia.com/gpu": 1 },
  clusterName: "lab",
  clusterEndpoint: "https://10.0.0.10:6443",
  kubernetesVersion: "v1.35.0",
  drain: true,
  timeouts: { pull: "10m", drain: "5m", reboot: "30m", verify: "5m" },
  installs: false,
  updatesAddons: false,
  awaitsTest: false,
  otherControlPlanes: [],
};
/** Values that may occur only in secret inputs. */
export const SECRETS = [
  "kubeconfig-content",
  "bG9uZy1zZWNyZXQ",
  "zp8du1.0gn7ja4tmx6qulju",
  "CONFIGURATION-WITH-KEYS",
];
export const credentials: Credentials = {
  talosconfig,
  machineSecrets,
  kubeconfig: "clusters: [{ name: kubeconfig-content }]\n",
};
/** Arguments of a GpuMachine without a cluster. */
export const args = (fields: Partial<GpuMachineArgs> = {}): GpuMachineArgs => ({
  address: "10.0.0.1",
  role: "worker",
  configuration: "owned",
  talosVersion: "v1.12.6",
  kubernetesVersion: "v1.35.0",
  clusterName: "lab",
  clusterEndpoint: "https://10.0.0.10:6443",
  ...credentials,
  ...fields,
});
