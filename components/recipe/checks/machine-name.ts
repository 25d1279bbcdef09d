import type { Check, CheckContext, CheckedMachine } from "./check";
import { objectName, shown } from "../rules";
import { valueAt } from "../mapping";

/** Longest value of the label `kubernetes.io/hostname`, which the kubelet sets to the node's name. */
const longest = 63;

/** A machine's name can be the name of a node, and is the one that Talos gives it. */
export const machineName: Check = {
  id: "machine-name",
  source:
    "Kubernetes, node names are RFC 1123 subdomains; pkg/kubelet/kubelet_node_status.go (label kubernetes.io/hostname); talos v1.13.9, internal/app/machined/pkg/controllers/k8s/nodename.go",
  find: (context) =>
    context.machines.flatMap((machine) => {
      const { field, name } = machine;
      if (objectName(name) !== undefined || name.length > longest)
        return {
          field,
          problem: `${shown(name)} cannot be the name of a node`,
          why: "a machine's key is its node's name; labels and the smoke test would look for a node that is not there",
          remedy: `use lower-case letters, digits, \`-\` and \`.\`, at most ${longest} of them, exactly as \`kubectl get nodes\` prints it`,
        };
      if (machine.spec.configuration !== "owned" || !name.includes(".") || registersWithDomain(machine, context))
        return [];
      const short = name.split(".")[0]!;
      return {
        field,
        problem: `${shown(name)} has a domain, and Talos calls the node ${short}`,
        why: "the stack names the host of an owned machine by the machine's key, and Talos leaves the domain out of the node's name, so the update would wait for a node that never comes",
        remedy: `call the machine ${short}, or add a patch with \`machine: {kubelet: {registerWithFQDN: true}}\``,
      };
    }),
};

/** Whether patches make Talos register the node with its domain; the last one that says it counts. */
function registersWithDomain({ patches }: CheckedMachine, { clusterPatches }: CheckContext): boolean {
  const said = [...clusterPatches, ...patches].map(({ config }) =>
    valueAt(config, "machine", "kubelet", "registerWithFQDN"),
  );
  return said.findLast((value) => typeof value === "boolean") === true;
}
