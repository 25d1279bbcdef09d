import type { Check } from "./check";
import { bootstrap } from "./bootstrap";
import { chartObjects } from "./chart-objects";
import { chartValues } from "./chart-values";
import { chartVersion } from "./chart-version";
import { containerdPartCheck } from "./containerd-part";
import { containerdToml } from "./containerd-toml";
import { containerdVersion } from "./containerd-version";
import { cudaArchitecture } from "./cuda-architecture";
import { cudaImage } from "./cuda-image";
import { defaultRuntime } from "./default-runtime";
import { deviceListStrategy } from "./device-list-strategy";
import { driverBranches } from "./driver-branches";
import { driverTooNew } from "./driver-too-new";
import { driverTooOld } from "./driver-too-old";
import { external } from "./external";
import { extensionName } from "./extension-name";
import { extensionRelease } from "./extension-release";
import { extensionWithoutGpu } from "./extension-without-gpu";
import { fabricmanagerBranch } from "./fabricmanager-branch";
import { gpuCapacity } from "./gpu-capacity";
import { gpuMachine } from "./gpu-machine";
import { gpuModel } from "./gpu-model";
import { gpuRequestsFit } from "./gpu-requests";
import { installExtensions } from "./install-extensions";
import { imageLists } from "./image-lists";
import { installImage } from "./install-image";
import { kernelArgs } from "./kernel-args";
import { kernelModulesOnce } from "./kernel-modules-once";
import { kubernetesMode } from "./kubernetes-mode";
import { kubernetesVersion } from "./kubernetes-version";
import { machineAddress } from "./machine-address";
import { machineFileCreate } from "./machine-file-create";
import { machineFileOnce } from "./machine-file-once";
import { machineName } from "./machine-name";
import { mig } from "./mig";
import { mixedCards } from "./mixed-cards";
import { moduleParameters } from "./module-parameters";
import { monitoring } from "./monitoring";
import { moduleFlavour } from "./module-flavour";
import { nodeLabels } from "./node-labels";
import { ollamaPull } from "./ollama-pull";
import { omniMachine } from "./omni-machine";
import { omniPatch } from "./omni-patch";
import { liteLlm } from "./litellm";
import { openModulesCard } from "./open-modules-card";
import { operandEnv } from "./operand-env";
import { operatorValues } from "./operator-values";
import { operatorVersion } from "./operator-version";
import { ownedMachine } from "./owned-machine";
import { patchConflict } from "./patch-conflict";
import { patchDelete } from "./patch-delete";
import { patchDocument } from "./patch-document";
import { patchFormat } from "./patch-format";
import { patchIdentity } from "./patch-identity";
import { patchNodeLabels } from "./patch-node-labels";
import { patchNodeTaints } from "./patch-node-taints";
import { patchRole } from "./patch-role";
import { patchSchema } from "./patch-schema";
import { patchSecret } from "./patch-secret";
import { patchSysctl } from "./patch-sysctl";
import { plainSecret } from "./plain-secret";
import { platform } from "./platform";
import { pluginConfig } from "./plugin-config";
import { pluginNamespace } from "./plugin-namespace";
import { pluginPaths } from "./plugin-paths";
import { podNodeSelector } from "./pod-node-selector";
import { powerLimit } from "./power-limit";
import { sharing } from "./sharing";
import { sharingConfigCheck } from "./sharing-config";
import { sharingRequests } from "./sharing-requests";
import { taints } from "./taints";
import { machineRelease } from "./machine-release";
import { talosVersion } from "./talos-version";
import { tolerations } from "./tolerations";
import { upgradeFirst } from "./upgrade-first";
import { upgradeStep } from "./upgrade-step";
import { valuesWithoutGpus } from "./values-without-gpus";
import { visibleDevices } from "./visible-devices";
import { mayBeAway } from "./may-be-away";
import { vllm } from "./vllm";
import { workloadNamespaces } from "./workload-namespaces";

/** Every check, in the order in which findings are told: machines and images, configuration, Kubernetes, workloads. */
export const checks: Check[] = [
  talosVersion,
  machineRelease,
  kubernetesVersion,
  ownedMachine,
  omniMachine,
  bootstrap,
  machineName,
  machineAddress,
  platform,
  kernelArgs,
  moduleParameters,
  upgradeStep,
  upgradeFirst,
  mayBeAway,
  gpuMachine,
  gpuModel,
  mixedCards,
  moduleFlavour,
  openModulesCard,
  driverTooOld,
  driverTooNew,
  driverBranches,
  fabricmanagerBranch,
  kernelModulesOnce,
  extensionName,
  extensionRelease,
  extensionWithoutGpu,
  patchFormat,
  patchIdentity,
  patchSchema,
  patchRole,
  patchDocument,
  patchConflict,
  patchDelete,
  patchSecret,
  patchSysctl,
  patchNodeLabels,
  patchNodeTaints,
  machineFileOnce,
  machineFileCreate,
  installExtensions,
  installImage,
  imageLists,
  omniPatch,
  containerdPartCheck,
  containerdVersion,
  containerdToml,
  defaultRuntime,
  nodeLabels,
  taints,
  tolerations,
  powerLimit,
  kubernetesMode,
  external,
  chartVersion,
  chartValues,
  chartObjects,
  operatorVersion,
  operatorValues,
  operandEnv,
  valuesWithoutGpus,
  pluginConfig,
  pluginNamespace,
  pluginPaths,
  deviceListStrategy,
  sharing,
  sharingConfigCheck,
  mig,
  monitoring,
  gpuRequestsFit,
  gpuCapacity,
  sharingRequests,
  cudaImage,
  cudaArchitecture,
  visibleDevices,
  ollamaPull,
  liteLlm,
  vllm,
  podNodeSelector,
  workloadNamespaces,
  plainSecret,
];
