import { draDriverRoot } from "../cluster/dra-release";
import { migManagerRelease } from "../cluster/mig-manager";
import { toolkitFolder } from "../cluster/operator-release";
import type { WrongValue } from "./wrong-values";

/**
 * Values that a chart or NVIDIA's program does not accept. Source: k8s-device-plugin, api/config/v1/consts.go,
 * templates/daemonset-device-plugin.yml (tests the type of its switches); gpu-operator,
 * api/nvidia/v1/clusterpolicy_types.go.
 */
export const wrongWords: WrongValue[] = [
  {
    field: "gpuOperator.values.mig.strategy",
    accepts: ["none", "single", "mixed"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    field: "gpuOperator.values.daemonsets.updateStrategy",
    accepts: ["RollingUpdate", "OnDelete"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    field: "devicePlugin.values.migStrategy",
    accepts: ["none", "single", "mixed"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    field: "devicePlugin.values.deviceIDStrategy",
    accepts: ["uuid", "index"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    field: "devicePlugin.values.failOnInitError",
    accepts: "true or false",
    why: 'the chart silently ignores a value that is not a boolean, such as the quoted "true"',
  },
  {
    field: "devicePlugin.values.compatWithCPUManager",
    accepts: "true or false",
    why: 'the chart silently ignores a value that is not a boolean, such as the quoted "true"',
  },
  {
    field: "devicePlugin.values.gdsEnabled",
    accepts: "true or false",
    why: 'the chart silently ignores a value that is not a boolean, such as the quoted "true"',
  },
  {
    field: "devicePlugin.values.mofedEnabled",
    accepts: "true or false",
    why: 'the chart silently ignores a value that is not a boolean, such as the quoted "true"',
  },
  {
    field: "devicePlugin.values.noTimestamp",
    accepts: "true or false",
    why: 'the chart silently ignores a value that is not a boolean, such as the quoted "true"',
  },
  {
    field: "devicePlugin.values.gfd.noTimestamp",
    accepts: "true or false",
    why: 'the chart silently ignores a value that is not a boolean, such as the quoted "true"',
  },
  {
    field: "gpuOperator.values.operator.runtimeClass",
    accepts: ["nvidia"],
    why: "GPU pods use the RuntimeClass nvidia, and the runtime in Talos' extension has the same name",
  },
  {
    field: "gpuOperator.values.sandboxWorkloads.defaultWorkload",
    accepts: ["container"],
    why: "with any other value the operator runs no device plugin on the machines, and they offer no GPU (controllers/state_manager.go)",
  },
  {
    field: "gpuOperator.values.gds.enabled",
    accepts: [false],
    when: "a machine's extensions lack nvidia_fs",
    why: "the validator waits for the kernel module nvidia_fs, which NVIDIA's extensions contain only from Talos 1.14 on, but a machine runs an older version",
    remedy: "leave it out, or first upgrade each machine with a card to Talos 1.14 or newer",
  },
  {
    field: "devicePlugin.values.nvidiaDriverRoot",
    accepts: "an absolute path",
    why: "the kubelet mounts only absolute paths, so the pods would not start",
  },
  {
    field: "devicePlugin.values.cdi.nvidiaHookPath",
    accepts: "an absolute path",
    why: "the kubelet mounts only absolute paths, so the pods would not start",
  },
  {
    field: "devicePlugin.values.mps.root",
    accepts: "an absolute path",
    why: "the kubelet mounts only absolute paths, so the pods would not start",
  },
  {
    field: "gpuOperator.values.hostPaths.rootFS",
    accepts: "an absolute path",
    why: "the kubelet mounts only absolute paths, so the pods would not start",
  },
  {
    field: "gpuOperator.values.hostPaths.driverInstallDir",
    accepts: "an absolute path",
    why: "the kubelet mounts only absolute paths, so the pods would not start",
  },
  {
    field: "gpuOperator.values.hostPaths.kubeletRootDir",
    accepts: "an absolute path",
    why: "the kubelet mounts only absolute paths, so the pods would not start",
  },
  {
    field: "gpuOperator.values.toolkit.installDir",
    accepts: "an absolute path",
    why: "the kubelet mounts only absolute paths, so the pods would not start",
  },
  {
    field: "devicePlugin.values.updateStrategy",
    accepts: "a mapping",
    why: "updateStrategy of a DaemonSet is a mapping, and Kubernetes refuses any other type",
  },
  {
    field: "devicePlugin.values.updateStrategy.type",
    accepts: ["RollingUpdate", "OnDelete"],
    why: "Kubernetes refuses any other type in the DaemonSet",
  },
];

/**
 * Values of the operator that do not fit Talos' layout. Source: gpu-operator v26.7.0, controllers/object_controls.go
 * (toolkit on read-only hosts); nvidia-container-toolkit, CDI; mig-parted#356; siderolabs/extensions#1222 (Talos
 * 1.15).
 */
export const unlikeTalos: WrongValue[] = [
  {
    field: "gpuOperator.values.toolkit.enabled",
    refuses: true,
    when: "the image has the toolkit",
    problem: "lets the operator install NVIDIA's toolkit",
    why: "the operator's toolkit edits containerd's configuration, which is read-only on Talos, and the image already contains a toolkit",
  },
  {
    field: "gpuOperator.values.migManager.version",
    refuses: "a MIG manager that hangs",
    when: "sharing.mig is set",
    problem: (value) => `the MIG manager ${value} hangs on Talos`,
    why: "from v0.13 on the MIG manager waits for systemd, which Talos lacks, so it never splits a card and reports no error",
    remedy: `leave it out (the default is ${migManagerRelease})`,
  },
  {
    field: "gpuOperator.values.cdi.enabled",
    refuses: true,
    when: "Talos ≤ 1.12",
    problem: "enables CDI on Talos ≤ 1.12",
    why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc, so containers get the card without the driver's libraries",
    remedy: "leave it out, or use Talos ≥ 1.13",
  },
  {
    field: "gpuOperator.values.hostPaths.driverInstallDir",
    refuses: "a folder that Talos lacks",
    when: "Talos ≥ 1.13",
    problem: "is a folder that Talos lacks and that no pod can create",
    why: "the operator's pods mount this folder from the host, whose root is read-only, so no pod of the operator would start",
    remedy: "write /usr/local, or leave it out",
  },
  {
    field: "gpuOperator.values.toolkit.enabled",
    refuses: "false",
    when: "the operator brings the toolkit",
    problem: "turns the operator's toolkit off",
    why: "from Talos 1.15 on only the operator installs the toolkit, and no pod with a card starts without the toolkit's CDI hooks",
  },
  {
    field: "gpuOperator.values.toolkit.installDir",
    refuses: "a folder that is read-only",
    when: "the operator brings the toolkit",
    problem: (value) => `is ${value}, where the toolkit cannot be installed`,
    why: "on Talos only folders below /var and /opt are writable and may contain programs, so the toolkit's pod would not start",
    remedy: `leave it out (the default is ${toolkitFolder})`,
  },
  {
    field: "gpuOperator.values.cdi.enabled",
    refuses: "false",
    when: "the operator brings the toolkit",
    problem: "disables CDI",
    why: "if CDI is disabled, the operator refuses its NRI plugin and stops all its work",
  },
  {
    field: "gpuOperator.values.cdi.nriPluginEnabled",
    refuses: "false",
    when: "the operator brings the toolkit",
    problem: "disables the NRI plugin",
    why: "without NRI the toolkit edits containerd's configuration, which is read-only on Talos, so the toolkit's pod would not start (gpu-operator#2382)",
  },
];

/**
 * Values with which no node offers a GPU, even if Helm can install the chart. Source: gpu-operator v25.3.4 to v26.7.0,
 * deployments/gpu-operator/templates/{clusterpolicy,validations}.yaml, controllers/state_manager.go,
 * controllers/object_controls.go (NRI plugin); gpu-operator#647 (driver image); k8s-device-plugin, deployments/helm.
 */
export const withoutGpus: WrongValue[] = [
  {
    field: "gpuOperator.values.driver.enabled",
    refuses: "true",
    problem: "lets the operator install NVIDIA's driver",
    why: "no driver image for Talos exists, because Talos has the driver as an extension. The driver's pod never starts, and all other pods wait for it",
  },
  {
    field: "gpuOperator.values.devicePlugin.enabled",
    refuses: "false",
    problem: "turns the device plugin off",
    why: "only the device plugin of this chart offers GPUs, so pods that request nvidia.com/gpu would stay Pending",
    remedy: "leave it out, or replace this chart by `dra: { version: 0.5.0 }` to use claims",
  },
  {
    field: "devicePlugin.values.devicePlugin.enabled",
    refuses: "false",
    problem: "turns the device plugin off",
    why: "only the device plugin of this chart offers GPUs, so pods that request nvidia.com/gpu would stay Pending",
    remedy: "leave it out, or replace this chart by `dra: { version: 0.5.0 }` to use claims",
  },
  {
    field: "gpuOperator.values.clusterPolicy.deployCR",
    refuses: "false",
    problem: "leaves the ClusterPolicy out",
    why: "without a ClusterPolicy the operator installs no device plugin, and the node offers no GPU",
  },
  {
    field: "gpuOperator.values.gpuCluster.deployCR",
    refuses: "true",
    problem: "enables the operator's own support for dynamic resource allocation",
    why: "the chart refuses it together with a ClusterPolicy. Without a ClusterPolicy the CDI specifications name paths that Talos lacks, so no pod with a card starts (nicolerenee/infra#2394)",
    remedy: "leave it out, or replace this chart by `dra: { version: 0.5.0 }` to use claims",
  },
  {
    field: "dra.values.nvidiaDriverRoot",
    refuses: "a root without the driver",
    problem: (value) => `is ${value}, which is not the driver's folder on Talos`,
    why: "the DRA driver's init container waits forever for libnvidia-ml.so.1 and for an nvidia-smi that is not a link (dra-driver-nvidia-gpu#605)",
    remedy: `leave it out (the default is ${draDriverRoot})`,
  },
  {
    field: "dra.values.gpuResourcesEnabledOverride",
    refuses: "false",
    problem: "is false",
    why: "the chart fails if this value is false and the chart's driver for GPUs is enabled",
  },
  {
    field: "dra.values.resources.gpus.enabled",
    refuses: "false",
    problem: "turns the driver for GPUs off",
    why: "no program would publish the cards, and every claim of a card would stay Pending",
  },
  {
    field: "gpuOperator.values.cdi.nriPluginEnabled",
    refuses: "true",
    when: "the image has the toolkit",
    problem: "enables the NRI plugin, which is part of the operator's container toolkit",
    why: "the stack turns the operator's toolkit off on Talos ≤ 1.14. Charts from v26.7 on refuse this value without the toolkit, and with older charts, pods see no card",
  },
  {
    field: "gpuOperator.values.node-feature-discovery.worker.enable",
    refuses: "false",
    when: "the labels of the stack do not mark every GPU machine",
    problem: "turns Node Feature Discovery's worker off",
    why: "the operator finds GPU nodes only by the labels of Node Feature Discovery, so it would place no pod",
  },
  {
    field: "gpuOperator.values.node-feature-discovery.master.enable",
    refuses: "false",
    when: "the labels of the stack do not mark every GPU machine",
    problem: "turns Node Feature Discovery's master off",
    why: "the operator finds GPU nodes only by the labels of Node Feature Discovery, so it would place no pod",
  },
  {
    field: "gpuOperator.values.migManager.enabled",
    refuses: "false",
    when: "sharing.mig splits the cards",
    problem: "disables the MIG manager, but sharing.mig needs it",
    why: "only the MIG manager splits the cards, so the node would offer whole cards or no cards",
  },
];

/**
 * Values that Talos needs and that are not the chart's defaults, so an external release must set them. Source:
 * values.yaml of gpu-operator (driver, toolkit: on; cdi: on from v25.10.0); k8s-device-plugin, see checks/plugin.ts.
 */
export const neededOutside: WrongValue[] = [
  {
    field: "gpuOperator.values.driver.enabled",
    refuses: "not false",
    problem: "is not set to false, and the chart's default is true",
    why: "the operator would install NVIDIA's driver, but no driver image for Talos exists. The driver's pod never starts, and all other pods wait for it",
    remedy: "write `driver: { enabled: false }`",
  },
  {
    field: "gpuOperator.values.toolkit.enabled",
    refuses: "not false",
    when: "the image has the toolkit",
    problem: "is not set to false, and the chart's default is true",
    why: "the operator's toolkit edits containerd's configuration, which is read-only on Talos, and the image already contains a toolkit",
    remedy: "write `toolkit: { enabled: false }`",
  },
  {
    field: "gpuOperator.values.cdi.nriPluginEnabled",
    refuses: "not set",
    when: "the operator brings the toolkit",
    problem: "is not set, and the chart's default is false",
    why: "without NRI the operator's toolkit edits containerd's configuration, which is read-only on Talos, so the toolkit's pod would not start (gpu-operator#2382)",
    remedy: "write `cdi: { nriPluginEnabled: true }`",
  },
  {
    field: "gpuOperator.values.toolkit.installDir",
    refuses: "not set",
    when: "the operator brings the toolkit",
    problem: "is not set, and the chart's default is /usr/local/nvidia",
    why: "this folder is read-only on Talos, so the toolkit's pod would not start",
    remedy: `write \`toolkit: { installDir: ${toolkitFolder} }\``,
  },
  {
    field: "gpuOperator.values.cdi.enabled",
    refuses: "not false",
    when: "Talos ≤ 1.12, and an operator with CDI on by default",
    problem: "is not set to false on Talos ≤ 1.12, and the chart's default is true",
    why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc, so containers get the card without the driver's libraries",
    remedy: "write `cdi: { enabled: false }`, until the machines run Talos 1.13",
  },
  {
    field: "devicePlugin.values.nvidiaDriverRoot",
    refuses: "not set",
    when: "deviceListStrategy selects CDI on Talos ≥ 1.13",
    problem: "is not set, but deviceListStrategy selects CDI",
    why: "the plugin exits with `open /driver-root/etc/ld.so.cache: no such file or directory`, and the node offers no GPU",
    remedy: "write `nvidiaDriverRoot: /`",
  },
  {
    field: "dra.values.nvidiaDriverRoot",
    refuses: "not set",
    problem: "is not set, and the chart's default is /",
    why: "the DRA driver's init container waits forever for libnvidia-ml.so.1 and for an nvidia-smi that is not a link (dra-driver-nvidia-gpu#605)",
    remedy: `write \`nvidiaDriverRoot: ${draDriverRoot}\``,
  },
];
