import { taintsOf } from "./taints";
import { readPatch } from "./user-patches";
import type { ClusterSpec, MachineSpec } from "../spec/index";
import type { NodeTaint } from "../types";

/**
 * Taints that a node may have by the stack's own words: those of the field, which this package sets and takes back, and those
 * that its patches have Talos or the kubelet set, which stay their author's. What runs on the GPU machines tolerates both.
 */
export function taintsWithPatches({ patches = [] }: Pick<ClusterSpec, "patches">, machine: MachineSpec): NodeTaint[] {
  const texts = [...patches, ...(machine.patches ?? [])];
  return [...taintsOf(machine), ...texts.flatMap((text) => readPatch(text, "").taints)];
}

/** Whether no machine of the stack takes a pod that tolerates nothing but a control plane's taint. */
export function everyMachineIsTainted(spec: Pick<ClusterSpec, "machines" | "patches">): boolean {
  const keepsOut = (machine: MachineSpec): boolean =>
    taintsWithPatches(spec, machine).some(({ effect }) => effect !== "PreferNoSchedule");
  return Object.values(spec.machines).every(keepsOut);
}
