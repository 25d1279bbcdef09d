import type { ClusterSpec, MachineSpec } from "../components/recipe/spec/index";

/** A cluster of workers with one card each. Every other machine is owned, and ten machines are updated at a time. */
export function fleetOf(count: number): ClusterSpec {
  const indices = Array.from({ length: count }, (_, index) => index);
  return {
    talosVersion: "v1.12.6",
    kubernetesVersion: "v1.35.0",
    clusterName: "bench",
    clusterEndpoint: "https://10.0.0.10:6443",
    machines: Object.fromEntries(indices.map((index) => [nodeName(index), machineAt(index)])),
    gpuOperator: { version: "v25.10.1" },
    upgrade: { maxParallel: 10 },
  };
}

/** A machine's name. Names sort by their number. */
export const nodeName = (index: number): string => `gpu-${String(index).padStart(4, "0")}`;

/** Whether the machine is owned: the stack has its whole configuration. */
export const isOwned = (index: number): boolean => index % 2 === 0;

function machineAt(index: number): MachineSpec {
  return {
    address: `10.1.${Math.floor(index / 250)}.${(index % 250) + 1}`,
    role: "worker",
    ...(isOwned(index)
      ? { configuration: "owned", versionContract: "v1.12" }
      : { configuration: "adopted" }),
    gpus: [{ model: "RTX 5070 Ti" }],
  };
}
