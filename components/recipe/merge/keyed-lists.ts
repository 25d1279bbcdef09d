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
  "machine.network.interfaces[].vlans": "vlanId",
  "machine.network.extraHostEntries": "ip",
  "cluster.apiServer.admissionControl": "name",
  "cluster.inlineManifests": "name",
  // ExtensionServiceConfig
  configFiles: "mountPath",
};

/**
 * What a later value replaces whole, as it does for Talos: `merge:"replace"` of talos v1.13.9,
 * pkg/machinery/config/types/v1alpha1/v1alpha1_types.go and types/network/rule_config.go (NetworkRuleConfig).
 */
const replaced = new Set([
  "cluster.network.podSubnets",
  "cluster.network.serviceSubnets",
  "cluster.apiServer.auditPolicy",
  "ingress",
  "portSelector.ports",
]);

/** Whether a later value of a field takes the place of the whole earlier one. */
export function isReplaced(path: Step[]): boolean {
  return replaced.has(fieldOf(path));
}

/** A path without which item of a list it goes through. */
function fieldOf(path: Step[]): string {
  return path
    .map((step) => (typeof step === "string" ? `.${step}` : "[]"))
    .join("")
    .slice(1);
}

/** Key of the items of a list; undefined when they have none, and are compared as a whole. */
export function keyOfList(path: Step[]): string | undefined {
  return keys[fieldOf(path)];
}

/** Lists whose items are one thing: they are equal or in conflict, never merged. */
export function isWhole(path: Step[]): boolean {
  return path[0] === "machine" && path[1] === "files";
}
