export { clusterSecrets } from "./cluster-secrets";
export { GpuMachine } from "./gpu-machine";
export type {
  GpuMachineArgs,
  GpuMachineRecipe,
  MachineExtensionService,
  MachineKernelModule,
  MachineTaint,
} from "./args";
export { registerSchematics, type SchematicToRegister } from "./schematic";
