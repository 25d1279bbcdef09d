import { draDriverRoot } from "../cluster/dra-release";
import { migManagerRelease } from "../cluster/mig-manager";
import { toolkitFolder } from "../cluster/operator-release";
import type { WrongValue } from "./wrong-values";

/**
 * Values that a chart or NVIDIA's program does not take. Source: k8s-device-plugin, api/config/v1/consts.go,
 * templates/daemonset-device-plugin.yml (asks for the type of its switches); gpu-operator,
 * api/nvidia/v1/clusterpolicy_types.go.
 */
export const wrongWords: WrongValue[] = [
  {
    at: "gpuOperator.values.mig.strategy",
    takes: ["none", "single", "mixed"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    at: "gpuOperator.values.daemonsets.updateStrategy",
    takes: ["RollingUpdate", "OnDelete"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    at: "devicePlugin.values.migStrategy",
    takes: ["none", "single", "mixed"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    at: "devicePlugin.values.deviceIDStrategy",
    takes: ["uuid", "index"],
    why: "NVIDIA's program refuses anything else",
  },
  {
    at: "devicePlugin.values.failOnInitError",
    takes: "true or false",
    why: "the chart silently ignores anything else, also a text",
  },
  {
    at: "devicePlugin.values.compatWithCPUManager",
    takes: "true or false",
    why: "the chart silently ignores anything else, also a text",
  },
  {
    at: "devicePlugin.values.gdsEnabled",
    takes: "true or false",
    why: "the chart silently ignores anything else, also a text",
  },
  {
    at: "devicePlugin.values.mofedEnabled",
    takes: "true or false",
    why: "the chart silently ignores anything else, also a text",
  },
  {
    at: "devicePlugin.values.noTimestamp",
    takes: "true or false",
    why: "the chart silently ignores anything else, also a text",
  },
  {
    at: "devicePlugin.values.gfd.noTimestamp",
    takes: "true or false",
    why: "the chart silently ignores anything else, also a text",
  },
  {
    at: "gpuOperator.values.operator.runtimeClass",
    takes: ["nvidia"],
    why: "Talos' extension gives its runtime this name, and GPU pods use this RuntimeClass",
  },
  {
    at: "gpuOperator.values.sandboxWorkloads.defaultWorkload",
    takes: ["container"],
    why: "the operator would run no device plugin on the machines, which then offer no GPU (controllers/state_manager.go)",
  },
  {
    at: "gpuOperator.values.gds.enabled",
    takes: [false],
    when: "a machine's extensions lack nvidia_fs",
    why: "it waits for the kernel module nvidia_fs, which NVIDIA's extensions have from Talos 1.14 on, and some machine runs an older release",
    remedy: "leave it out, or bring each machine with a card to Talos 1.14 or newer first",
  },
  {
    at: "devicePlugin.values.nvidiaDriverRoot",
    takes: "an absolute path",
    why: "the kubelet mounts no other, and the pods do not start",
  },
  {
    at: "devicePlugin.values.cdi.nvidiaHookPath",
    takes: "an absolute path",
    why: "the kubelet mounts no other, and the pods do not start",
  },
  {
    at: "devicePlugin.values.mps.root",
    takes: "an absolute path",
    why: "the kubelet mounts no other, and the pods do not start",
  },
  {
    at: "gpuOperator.values.hostPaths.rootFS",
    takes: "an absolute path",
    why: "the kubelet mounts no other, and the pods do not start",
  },
  {
    at: "gpuOperator.values.hostPaths.driverInstallDir",
    takes: "an absolute path",
    why: "the kubelet mounts no other, and the pods do not start",
  },
  {
    at: "gpuOperator.values.hostPaths.kubeletRootDir",
    takes: "an absolute path",
    why: "the kubelet mounts no other, and the pods do not start",
  },
  {
    at: "gpuOperator.values.toolkit.installDir",
    takes: "an absolute path",
    why: "the kubelet mounts no other, and the pods do not start",
  },
  {
    at: "devicePlugin.values.updateStrategy",
    takes: "a mapping",
    why: "Kubernetes refuses the DaemonSet",
  },
  {
    at: "devicePlugin.values.updateStrategy.type",
    takes: ["RollingUpdate", "OnDelete"],
    why: "NVIDIA's program refuses anything else",
  },
];

/**
 * Values of the operator that do not fit Talos' layout. Source: gpu-operator v26.7.0, controllers/object_controls.go
 * (toolkit on read-only hosts); nvidia-container-toolkit, CDI; mig-parted#356; siderolabs/extensions#1222 (Talos
 * 1.15).
 */
export const unlikeTalos: WrongValue[] = [
  {
    at: "gpuOperator.values.toolkit.enabled",
    is: true,
    when: "the image has the toolkit",
    problem: "installs NVIDIA's toolkit by the operator",
    why: "it edits containerd's configuration on the host, which Talos has read-only, and the toolkit is in the image already",
  },
  {
    at: "gpuOperator.values.migManager.version",
    is: "that hangs",
    when: "cards are split",
    problem: (value) => `${value} hangs on Talos`,
    why: "the MIG manager from v0.13 on waits for systemd before it does anything: the cards are never split, and nothing says so",
    remedy: `leave it out (${migManagerRelease} follows)`,
  },
  {
    at: "gpuOperator.values.cdi.enabled",
    is: true,
    when: "Talos ≤ 1.12",
    problem: "turns CDI on, on Talos ≤ 1.12",
    why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc: containers get the card without its libraries",
    remedy: "leave it out, or take Talos ≥ 1.13",
  },
  {
    at: "gpuOperator.values.hostPaths.driverInstallDir",
    is: "a folder that Talos lacks",
    when: "Talos ≥ 1.13",
    problem: "is a folder that Talos lacks and that no pod can make",
    why: "the operator's pods mount it from the host, whose root is read-only, so none of them would start",
    remedy: "write /usr/local, or leave it out",
  },
  {
    at: "gpuOperator.values.toolkit.enabled",
    is: "false",
    when: "the operator brings the toolkit",
    problem: "turns the operator's toolkit off",
    why: "from Talos 1.15 on nothing else brings the toolkit: no hook of CDI is on the machine, and no pod with a card starts",
  },
  {
    at: "gpuOperator.values.toolkit.installDir",
    is: "a folder that is read-only",
    when: "the operator brings the toolkit",
    problem: (value) => `is ${value}, where the toolkit cannot be installed`,
    why: "of Talos' folders only those below /var and /opt can be written and hold programs: the toolkit's pod would not start",
    remedy: `leave it out (${toolkitFolder} follows)`,
  },
  {
    at: "gpuOperator.values.cdi.enabled",
    is: "false",
    when: "the operator brings the toolkit",
    problem: "turns CDI off",
    why: "the operator refuses its NRI plugin without CDI, and reconciles nothing",
  },
  {
    at: "gpuOperator.values.cdi.nriPluginEnabled",
    is: "false",
    when: "the operator brings the toolkit",
    problem: "turns the NRI plugin off",
    why: "the toolkit would then edit containerd's configuration on the host, which Talos has read-only: its pod would not start (gpu-operator#2382)",
  },
];

/**
 * Values with which the chart installs, or fails, and no GPU is ever offered. Source: gpu-operator v25.3.4 to
 * v26.7.0, deployments/gpu-operator/templates/{clusterpolicy,validations}.yaml, controllers/state_manager.go,
 * controllers/object_controls.go (NRI plugin); gpu-operator#647 (driver image); k8s-device-plugin, deployments/helm.
 */
export const withoutGpus: WrongValue[] = [
  {
    at: "gpuOperator.values.driver.enabled",
    is: "true",
    problem: "installs NVIDIA's driver by the operator",
    why: "there is no driver image for Talos, which brings the driver as an extension: its pod never starts, and everything waits for it",
  },
  {
    at: "gpuOperator.values.devicePlugin.enabled",
    is: "false",
    problem: "turns the device plugin off",
    why: "nothing else of this chart offers GPUs: what requests nvidia.com/gpu would stay Pending",
    remedy: "leave it out; for claims write `dra: { version: 0.5.0 }` instead of this chart",
  },
  {
    at: "devicePlugin.values.devicePlugin.enabled",
    is: "false",
    problem: "turns the device plugin off",
    why: "nothing else of this chart offers GPUs: what requests nvidia.com/gpu would stay Pending",
    remedy: "leave it out; for claims write `dra: { version: 0.5.0 }` instead of this chart",
  },
  {
    at: "gpuOperator.values.clusterPolicy.deployCR",
    is: "false",
    problem: "leaves the ClusterPolicy out",
    why: "the operator does nothing without one: no device plugin comes, and the node offers no GPU",
  },
  {
    at: "gpuOperator.values.gpuCluster.deployCR",
    is: "true",
    problem: "asks for the operator's stack for dynamic resource allocation",
    why: "the chart refuses it together with a ClusterPolicy; without one, the operator does not pass its driver folder on; the CDI specifications then name paths that Talos lacks, and no pod with a card starts (nicolerenee/infra#2394)",
    remedy: "leave it out; for claims write `dra: { version: 0.5.0 }` instead of this chart",
  },
  {
    at: "dra.values.nvidiaDriverRoot",
    is: "a root without the driver",
    problem: (value) => `is ${value}, where the driver finds nothing on Talos`,
    why: "its init container looks for libnvidia-ml.so.1 and for nvidia-smi as a file, not a link, and waits for them forever (dra-driver-nvidia-gpu#605)",
    remedy: `leave it out (${draDriverRoot} follows)`,
  },
  {
    at: "dra.values.gpuResourcesEnabledOverride",
    is: "false",
    problem: "is false",
    why: "the chart then refuses to be installed with its driver for GPUs",
  },
  {
    at: "dra.values.resources.gpus.enabled",
    is: "false",
    problem: "turns the driver for GPUs off",
    why: "nothing would publish the cards, and every claim of one would stay Pending",
  },
  {
    at: "gpuOperator.values.cdi.nriPluginEnabled",
    is: "true",
    when: "the image has the toolkit",
    problem: "needs the operator's container toolkit, whose container holds the NRI plugin",
    why: "up to Talos 1.14 the image has the toolkit and the operator's is off: charts from v26.7 on refuse this value, and with older ones pods never see a card",
  },
  {
    at: "gpuOperator.values.node-feature-discovery.worker.enable",
    is: "false",
    when: "GPU machines are not all labelled by hand",
    problem: "turns Node Feature Discovery's worker off",
    why: "the operator finds GPU nodes only by its labels: without them no operand is placed anywhere",
  },
  {
    at: "gpuOperator.values.node-feature-discovery.master.enable",
    is: "false",
    when: "GPU machines are not all labelled by hand",
    problem: "turns Node Feature Discovery's master off",
    why: "the operator finds GPU nodes only by its labels: without them no operand is placed anywhere",
  },
  {
    at: "gpuOperator.values.migManager.enabled",
    is: "false",
    when: "cards are split into slices",
    problem: "turns the MIG manager off, and sharing.mig wants cards split",
    why: "nothing else splits them: the node offers whole cards, or none",
  },
];

/**
 * Values that Talos needs and the chart does not have by itself, for a release of another tool. Source: values.yaml
 * of gpu-operator (driver, toolkit: on; cdi: on from v25.10.0); k8s-device-plugin, see checks/plugin.ts.
 */
export const neededOutside: WrongValue[] = [
  {
    at: "gpuOperator.values.driver.enabled",
    is: "not false",
    problem: "is not false, and the chart's own value is true",
    why: "the operator would install NVIDIA's driver, for which there is no image for Talos: its pod never starts, and everything waits for it",
    remedy: "write `driver: { enabled: false }`",
  },
  {
    at: "gpuOperator.values.toolkit.enabled",
    is: "not false",
    when: "the image has the toolkit",
    problem: "is not false, and the chart's own value is true",
    why: "the operator's toolkit edits containerd's configuration on the host, which Talos has read-only; the toolkit is in the image already",
    remedy: "write `toolkit: { enabled: false }`",
  },
  {
    at: "gpuOperator.values.cdi.nriPluginEnabled",
    is: "not there",
    when: "the operator brings the toolkit",
    problem: "is not set, and the chart's own value is false",
    why: "the operator's toolkit would then edit containerd's configuration on the host, which Talos has read-only: its pod would not start (gpu-operator#2382)",
    remedy: "write `cdi: { nriPluginEnabled: true }`",
  },
  {
    at: "gpuOperator.values.toolkit.installDir",
    is: "not there",
    when: "the operator brings the toolkit",
    problem: "is not set, and the chart's own value is /usr/local/nvidia",
    why: "Talos has that read-only: the toolkit's pod would not start",
    remedy: `write \`toolkit: { installDir: ${toolkitFolder} }\``,
  },
  {
    at: "gpuOperator.values.cdi.enabled",
    is: "not false",
    when: "Talos ≤ 1.12, and an operator that turns CDI on",
    problem: "is not false on Talos ≤ 1.12, and the chart's own value is true",
    why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc: containers get the card without its libraries",
    remedy: "write `cdi: { enabled: false }`, until the machines run Talos 1.13",
  },
  {
    at: "devicePlugin.values.nvidiaDriverRoot",
    is: "not there",
    when: "the plugin is asked for CDI on Talos ≥ 1.13",
    problem: "is not set, and deviceListStrategy asks for CDI",
    why: "the plugin ends with `open /driver-root/etc/ld.so.cache: no such file or directory`, and the node offers no GPU",
    remedy: "write `nvidiaDriverRoot: /`",
  },
  {
    at: "dra.values.nvidiaDriverRoot",
    is: "not there",
    problem: "is not set, and the chart's own value is /",
    why: "its init container looks for libnvidia-ml.so.1 and for nvidia-smi as a file, not a link, and waits for them forever (dra-driver-nvidia-gpu#605)",
    remedy: `write \`nvidiaDriverRoot: ${draDriverRoot}\``,
  },
];
