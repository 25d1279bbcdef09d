import type { Check } from "./check";

const nodeName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const machineName: Check = {
  id: "machine-name",
  source: "Kubernetes, node names are RFC 1123 subdomains",
  find: ({ machines }) =>
    machines
      .filter((machine) => !nodeName.test(machine.name) || machine.name.length > 253)
      .map((machine) => ({
        field: machine.field,
        problem: `"${machine.name}" cannot be the name of a node`,
        why: "a machine's key is its node's name; labels and the smoke test would look for a node that is not there",
        remedy: "use lower-case letters, digits, `-` and `.`, exactly as `kubectl get nodes` prints it",
      })),
};
