import { allPatches, type Check } from "./check";
import { valueAt } from "../mapping";

/** Fields that Omni keeps for itself; machine.install.extensions and .image have checks of their own. */
const forbidden = [
  "cluster.clusterName",
  "cluster.id",
  "cluster.controlPlane.endpoint",
  "cluster.token",
  "cluster.secret",
  "cluster.aescbcEncryptionSecret",
  "cluster.secretboxEncryptionSecret",
  "cluster.ca",
  "cluster.acceptedCAs",
  "cluster.serviceAccount",
  "machine.token",
  "machine.ca",
  "machine.type",
  "machine.install.disk",
  "machine.acceptedCAs",
];

/** Documents that Omni does not take, since what they say is its own. */
const forbiddenDocuments = [
  "UnattendedInstallConfig",
  "DiscoveryIdentityConfig",
  "KubeClusterConfig",
  "KubeEtcdEncryptionConfig",
  "KubeAPIServerCAConfig",
  "KubeAggregatorCAConfig",
];

/** Patches of Omni's machines set nothing that Omni sets. */
export const omniPatch: Check = {
  id: "omni-patch",
  source:
    "siderolabs/omni, client/pkg/omni/resources/omni/config_patch.go, forbiddenFields, forbiddenDocuments (v1.10.4)",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) => {
      const machine = machines.find(({ spec }) => spec.configuration === "omni");
      if (machine === undefined) return [];
      const documents = patch.kinds
        .filter((kind) => forbiddenDocuments.includes(kind))
        .map((kind) => ({
          field: patch.field,
          problem: `is a ${kind}, and ${machine.name} is Omni's`,
          why: "Omni says it itself, and refuses a patch that does",
          remedy: "leave it out",
        }));
      const fields = forbidden
        .filter((path) => valueAt(patch.config, ...path.split(".")) !== undefined)
        .map((path) => ({
          field: patch.field,
          problem: `sets ${path}, and ${machine.name} is Omni's`,
          why: "Omni sets it and refuses a patch that does",
          remedy: "leave it out",
        }));
      return [...fields, ...documents];
    }),
};
