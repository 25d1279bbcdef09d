import { isMapping, valueAt } from "../mapping";
import { valueOfDocument } from "../rules/yaml";
import { allPatches, type Check } from "./check";

/** What only a control plane may have, and whether a document has it. */
const ofControlPlanes: [path: string, isThere: (document: unknown) => boolean][] = [
  ["cluster.etcd", (document) => isMapping(valueAt(document, "cluster", "etcd"))],
  ["machine.network.interfaces[].vip", (document) => devicesOf(document).some((device) => isMapping(device["vip"]))],
  [
    "machine.features.kubernetesTalosAPIAccess",
    (document) => valueAt(document, "machine", "features", "kubernetesTalosAPIAccess", "enabled") === true,
  ],
];

/** What only control planes may have is in no worker's patch. */
export const patchRole: Check = {
  id: "patch-role",
  source: "siderolabs/talos v1.13.0, pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go (Validate)",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) => {
      const worker = machines.find(({ spec }) => spec.role === "worker");
      if (worker === undefined || patch.flaw !== undefined) return [];
      const documents = patch.documents.map(valueOfDocument);
      return ofControlPlanes
        .filter(([, isThere]) => documents.some(isThere))
        .map(([path]) => ({
          field: patch.field,
          problem: `sets ${path}, and ${worker.name} is a worker`,
          why: "only control planes may have it: Talos refuses the worker's whole configuration",
          remedy: "write it in a patch of the control planes (machines.<name>.patches)",
        }));
    }),
};

/** Interfaces and their VLANs. */
function devicesOf(document: unknown): Record<string, unknown>[] {
  const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isMapping) : []);
  return list(valueAt(document, "machine", "network", "interfaces")).flatMap((one) => [one, ...list(one["vlans"])]);
}
