import { allPatches, type Check, type Found } from "./check";
import { valueAt } from "../mapping";

/** A host name without its domain, which is no part of the node's name (talos, controllers/k8s/nodename.go). */
const shortName = (name: string): string => name.split(".")[0]!.toLowerCase();

/** No patch gives a machine another role or another name. */
export const patchIdentity: Check = {
  id: "patch-identity",
  source:
    "talos v1.13.9, internal/app/machined/pkg/controllers/k8s/nodename.go (the node is called by its host); machine.type of the configuration",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }): Found => {
      const type = valueAt(patch.config, "machine", "type");
      const other = typeof type === "string" ? machines.find(({ spec }) => spec.role !== type) : undefined;
      const named = patch.hostnames[0];
      const misnamed =
        named === undefined ? undefined : machines.find(({ name }) => shortName(name) !== shortName(named));
      return [
        other !== undefined && {
          field: patch.field,
          problem: `sets machine.type to ${String(type)}, and ${other.name} is a ${other.spec.role}`,
          why: "a machine that changes its role joins the cluster as something else, or not at all",
          remedy: "leave it out, and write the machine's role",
        },
        misnamed !== undefined && {
          field: patch.field,
          problem: `names the host ${named}, and the stack calls the machine ${misnamed.name}`,
          why: "the node is called by its host, so labels, taints and tests would wait for a node that never comes",
          remedy: "call the machine by its host name, or leave it out",
        },
      ];
    }),
};
