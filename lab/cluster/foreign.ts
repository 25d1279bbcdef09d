import { stringify } from "yaml";
import { configPatchType, extensionsType, omniLabel } from "../../components/recipe";
import type { Resource } from "../omni/resources";

/**
 * Settings of another tool on a shared machine: a registry mirror and a file, as in many home clusters. The stack must
 * not change them.
 */
export const foreignPatch = stringify({
  machine: {
    files: [
      {
        path: "/var/lib/site/motd",
        op: "create",
        permissions: 0o644,
        content: "kept by the site's own tooling\n",
      },
    ],
    sysctls: { "vm.max_map_count": "262144" },
  },
});

/** Machine of another stack: its errors do not matter here. An ID of RFC 9562's documentation examples. */
const otherMachine = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";

/**
 * Other owners' resources in Omni, as `omnictl apply` and Omni's page leave them: a patch for the stack's machine,
 * whose content is on it already, and extensions for a second machine. They must be unchanged after the destroy.
 */
export function foreignResources(cluster: string, uuid: string): Resource[] {
  const resourceOf = (
    type: string,
    id: string,
    machine: string,
    spec: Resource["spec"],
  ): Resource => ({
    metadata: {
      namespace: "default",
      type,
      id,
      labels: { [omniLabel.cluster]: cluster, [omniLabel.clusterMachine]: machine },
    },
    spec,
  });
  return [
    resourceOf(configPatchType, `400-cm-${uuid}-site`, uuid, { data: foreignPatch }),
    resourceOf(extensionsType, `schematic-${otherMachine}`, otherMachine, {
      extensions: ["siderolabs/iscsi-tools"],
    }),
  ];
}
