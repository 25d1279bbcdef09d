import { configPatchType, extensionsType, omniLabel } from "../../components/recipe";
import { foreignPatch } from "../cluster/existing-cluster";
import type { Resource } from "./resources";

/** Machine of another stack: what is said of it is no concern of ours. An ID of RFC 9562's documentation examples. */
const otherMachine = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";

/**
 * What others keep in Omni, as `omnictl apply` and Omni's page leave it: a patch for the stack's machine, whose
 * content is on it already, and extensions for another one. It must be there unchanged when the stack has gone.
 */
export function foreignResources(cluster: string, uuid: string): Resource[] {
  const of = (type: string, id: string, machine: string, spec: Resource["spec"]): Resource => ({
    metadata: {
      namespace: "default",
      type,
      id,
      labels: { [omniLabel.cluster]: cluster, [omniLabel.clusterMachine]: machine },
    },
    spec,
  });
  return [
    of(configPatchType, `400-cm-${uuid}-site`, uuid, { data: foreignPatch }),
    of(extensionsType, `schematic-${otherMachine}`, otherMachine, { extensions: ["siderolabs/iscsi-tools"] }),
  ];
}
