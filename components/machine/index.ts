export { GpuMachine } from "./gpu-machine";
export type { GpuMachineArgs } from "./args";
export { registerSchematics, type SchematicToRegister } from "./schematic";
