import type { Step } from "./added";

/**
 * Lists whose items are found again by a value of theirs. Talos' own strategic merge appends to most of them, which makes
 * two files of one path, and a machine that does not boot (talos, v1alpha1_sequencer_tasks.go, WriteUserFiles).
 */
const keys: Record<string, string> = {
  "machine.files": "path",
  "machine.kernel.modules": "name",
  "machine.disks": "device",
  "machine.kubelet.extraMounts": "destination",
  "machine.network.interfaces": "interface",
  "machine.network.extraHostEntries": "ip",
  "cluster.apiServer.admissionControl": "name",
  "cluster.inlineManifests": "name",
};

/** Key of the items of a list; undefined when they have none, and are compared as a whole. */
export function keyOfList(path: Step[]): string | undefined {
  return path.every((step) => typeof step === "string") ? keys[path.join(".")] : undefined;
}

/** Lists whose items are one thing: they are equal or in conflict, never merged. */
export function isWhole(path: Step[]): boolean {
  return path[0] === "machine" && path[1] === "files";
}
