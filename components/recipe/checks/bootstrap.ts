import type { Check, Complaint } from "./check";

/** A stack that makes its cluster has owned machines, and a control plane to begin on. */
export const bootstrap: Check = {
  id: "bootstrap",
  source: "siderolabs/docs, getting-started: secrets, configurations, `talosctl bootstrap` on one control plane",
  find: ({ spec, machines }) => {
    if (!spec.bootstrap) return [];
    const found: Complaint[] = machines
      .filter((machine) => machine.spec.configuration !== "owned")
      .map((machine) => ({
        field: `${machine.field}.configuration`,
        problem: `is ${machine.spec.configuration}, in a stack that bootstraps its cluster`,
        why: "a machine in maintenance mode has no configuration that could be added to, and needs a whole one",
        remedy: "make it `configuration: owned`, or leave bootstrap out when the machine runs already",
      }));
    if (!machines.some((machine) => machine.spec.role === "controlplane")) {
      found.push({
        field: "bootstrap",
        problem: "there is no control plane to bootstrap the cluster on",
        why: "etcd and the Kubernetes API run on control planes",
        remedy: "give a machine `role: controlplane`, or leave bootstrap out when the cluster is there already",
      });
    }
    return found;
  },
};
