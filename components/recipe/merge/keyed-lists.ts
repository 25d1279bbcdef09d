import type { Step } from "./added";
import { mainDocument } from "./documents";

/**
 * Lists whose items are found again by a value of theirs, by the kind of their document. Talos' own strategic merge appends to most of
 * them, which makes two files of one path, and a machine that does not boot (talos, v1alpha1_sequencer_tasks.go, WriteUserFiles).
 */
const keys = new Map<string, Record<string, string>>([
  [
    mainDocument,
    {
      "machine.files": "path",
      "machine.kernel.modules": "name",
      "machine.disks": "device",
      "machine.kubelet.extraMounts": "destination",
      "machine.network.interfaces": "interface",
      "machine.network.interfaces[].vlans": "vlanId",
      "machine.network.extraHostEntries": "ip",
      "cluster.apiServer.admissionControl": "name",
      "cluster.inlineManifests": "name",
    },
  ],
  ["ExtensionServiceConfig", { configFiles: "mountPath" }],
  ["ImageVerificationConfig", { rules: "image" }],
]);

/**
 * What a later value replaces whole, as it does for Talos: `merge:"replace"` of talos v1.13.9 (v1alpha1/v1alpha1_types.go,
 * network/rule_config.go) and v1.14.0-rc.1 (cri, k8s and network/bgp.go), in pkg/machinery/config/types.
 */
const replaced = new Map<string, string[]>([
  [mainDocument, ["cluster.network.podSubnets", "cluster.network.serviceSubnets", "cluster.apiServer.auditPolicy"]],
  ["NetworkRuleConfig", ["ingress", "portSelector.ports"]],
  ["KubeNetworkConfig", ["podSubnets", "serviceSubnets"]],
  ["KubeAuditPolicyConfig", ["configuration"]],
  ["KubeAuthenticationConfig", ["configuration"]],
  ["KubeCredentialProviderConfig", ["configuration"]],
  ["KubeStaticPodConfig", ["pod"]],
  ["CRIBaseRuntimeSpecConfig", ["overrides"]],
  ["BGPInstanceConfig", ["advertise", "importRoutes", "neighbors"]],
]);

/**
 * Whether a later value of a field takes the place of the whole earlier one. The value of an argument does, be it one text or a list
 * (talos v1.13.9, v1alpha1_types.go, Args.Merge); before 1.13 it is one text.
 *
 * @param document name of the document, e.g. `NetworkRuleConfig/kubelet`.
 */
export function isReplaced(document: string, path: Step[]): boolean {
  return path.at(-2) === "extraArgs" || (replaced.get(kindOf(document)) ?? []).includes(fieldOf(path));
}

const kindOf = (document: string): string => document.replace(/\/.*$/s, "");

/** A path without which item of a list it goes through. */
function fieldOf(path: Step[]): string {
  return path
    .map((step) => (typeof step === "string" ? `.${step}` : "[]"))
    .join("")
    .slice(1);
}

/** Key of the items of a list; undefined when they have none, and are compared as a whole. */
export function keyOfList(document: string, path: Step[]): string | undefined {
  return keys.get(kindOf(document))?.[fieldOf(path)];
}

/** Lists whose items are one thing and never merged: a file, which is equal or in conflict, and what `isReplacedItem` knows. */
export function isWhole(document: string, path: Step[]): boolean {
  return (path[0] === "machine" && path[1] === "files") || isReplacedItem(document, path);
}

/** Lists of which a later item takes the place of the earlier one with its key (talos v1.13.9, security/image_verification.go, Merge). */
export function isReplacedItem(document: string, path: Step[]): boolean {
  return kindOf(document) === "ImageVerificationConfig" && fieldOf(path) === "rules";
}
