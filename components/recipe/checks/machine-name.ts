import type { Check } from "./check";
import { objectName, shown } from "../rules";

/** Longest value of the label `kubernetes.io/hostname`, which the kubelet sets to the node's name. */
const longest = 63;

/** A machine's name can be the name of a node. */
export const machineName: Check = {
  id: "machine-name",
  source:
    "Kubernetes, node names are RFC 1123 subdomains; pkg/kubelet/kubelet_node_status.go (label kubernetes.io/hostname)",
  find: ({ machines }) =>
    machines
      .filter((machine) => objectName(machine.name) !== undefined || machine.name.length > longest)
      .map((machine) => ({
        field: machine.field,
        problem: `${shown(machine.name)} cannot be the name of a node`,
        why: "a machine's key is its node's name; labels and the smoke test would look for a node that is not there",
        remedy: `use lower-case letters, digits, \`-\` and \`.\`, at most ${longest} of them, exactly as \`kubectl get nodes\` prints it`,
      })),
};
