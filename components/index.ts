// Component classes and types only: Pulumi's host publishes every component class that it finds here.
export { GpuCluster, type GpuClusterArgs } from "./gpu-cluster";
export type { MachineReport } from "./machine/upgrade";
export type { AskedStack } from "./lookups/release-facts";
export type * from "./recipe/types";
export { ComfyUi, type ComfyUiArgs } from "./workloads/comfyui";
export type { GpuToleration } from "./kubernetes/pods";
export type { GpuAccess, ServerAccess } from "./workloads/gpu-access";
export { GpuPod, type GpuPodArgs } from "./workloads/gpu-pod";
export { LiteLlm, type LiteLlmArgs, type LiteLlmServer } from "./workloads/litellm";
export { Ollama, type OllamaArgs } from "./workloads/ollama";
export { Vllm, type VllmArgs } from "./workloads/vllm";
export { GpuMachine, type GpuMachineArgs } from "./machine/gpu-machine";
export type * from "./recipe/spec/index";
// Types of values that the package also has as lists. Only the types are public: with `export *`, tools would report
// missing values.
export type {
  ConfigurationOwner,
  DriverBranch,
  ExternalKind,
  GpuArchitecture,
  MachineRole,
  MigStrategy,
  ModuleFlavour,
} from "./recipe/spec/index";
