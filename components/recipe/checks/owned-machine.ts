import type { Check } from "./check";

/** A stack with an owned machine says what its whole configuration needs. */
export const ownedMachine: Check = {
  id: "owned-machine",
  source:
    "pulumi-talos v0.8.1, talos:machine/getConfiguration (required: clusterName, clusterEndpoint, machineSecrets)",
  find: ({ spec, machines }) => {
    const owned = machines.filter((machine) => machine.spec.configuration === "owned").map((machine) => machine.name);
    if (owned.length === 0) return [];
    const needed = { clusterName: "home", clusterEndpoint: "https://10.0.10.10:6443", kubernetesVersion: "v1.35.0" };
    return Object.entries(needed)
      .filter(([field]) => spec[field as keyof typeof needed] === undefined)
      .map(([field, example]) => ({
        field,
        problem: `is missing, but ${owned.join(", ")} ${owned.length === 1 ? "is" : "are"} owned`,
        why: "the whole configuration of an owned machine is made here, and it names this",
        remedy: `add it, e.g. \`${example}\`, or make the machine \`configuration: adopted\``,
      }));
  },
};
