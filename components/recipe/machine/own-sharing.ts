import { asRelease } from "../external/external";
import { isFilledIn } from "../external/filled-in";
import { isMapping, valueAt } from "../mapping";
import type { Sharing } from "../facts/sharing";
import { remembering } from "../memory";
import { yamlIn } from "../rules/yaml";
import type { ClusterSpec, MachineSpec } from "../spec/index";

/**
 * Places of the device plugin's configurations in each chart's values. `section` is the path of the section that
 * contains them, and `texts` the key of their texts in this section. `image` is the path of the plugin's image.
 */
export const pluginConfigPlaces = [
  {
    field: "gpuOperator",
    section: ["devicePlugin", "config"],
    texts: "data",
    image: ["devicePlugin", "repository"],
  },
  { field: "devicePlugin", section: ["config"], texts: "map", image: ["image", "repository"] },
] as const;

/**
 * Label with which a node selects one of several configurations (k8s-device-plugin v0.19.3,
 * cmd/config-manager/main.go).
 */
const pickedBy = "nvidia.com/device-plugin.config";

/**
 * Sharing of a machine's cards: from the stack's field `sharing`, else from the device plugin's own configuration in
 * the chart's values.
 *
 * @param labels labels of the machine; one of them may select a configuration. Default: none.
 */
export function sharingOf(
  stackSpec: ClusterSpec,
  { labels = {} }: Pick<MachineSpec, "labels"> = {},
): Sharing | undefined {
  const { sharing } = stackSpec;
  const spec = asRelease(stackSpec);
  if (sharing?.timeSlicing)
    return { ...sharing, refusesSeveral: sharing.timeSlicing.failRequestsGreaterThanOne !== false };
  for (const { field, section, texts } of pluginConfigPlaces) {
    const config = valueAt(spec[field]?.values, ...section);
    if (!isMapping(config)) continue;
    const configurations = isMapping(config[texts]) ? config[texts] : {};
    if (Object.keys(configurations).length === 0) {
      if (typeof config["name"] === "string" && config["name"] !== "")
        return { ...sharing, unread: true };
      continue;
    }
    const text = configurations[chosenName(configurations, labels[pickedBy] ?? config["default"])];
    if (typeof text === "string" && isFilledIn(text)) return { ...sharing, unread: true };
    return { ...sharing, ...(typeof text === "string" ? readConfiguration(text) : {}) };
  }
  return sharing;
}

/**
 * Name of the configuration in use. If no name is given, the plugin uses the only configuration or, if there are
 * several, the configuration called `default` (templates/_helpers.tpl; config-manager's fallbacks `named`, `single`).
 */
function chosenName(configurations: Record<string, unknown>, name: unknown): string {
  if (typeof name === "string" && name !== "") return name;
  const [firstName = "", ...otherNames] = Object.keys(configurations);
  return otherNames.length === 0 ? firstName : "default";
}

/** Source: k8s-device-plugin v0.19.3, api/config/v1/sharing.go, replicas.go. */
const readConfiguration = remembering((text: string): Sharing => {
  const config = yamlIn(text); // A check reports a text that is not YAML.
  for (const method of ["timeSlicing", "mps"] as const) {
    const section = valueAt(config, "sharing", method);
    const resources = valueAt(section, "resources");
    if (!Array.isArray(resources) || resources.length === 0) continue;
    const [resource, ...otherResources] = resources.filter(isMapping);
    const replicas = Number(resource?.["replicas"]);
    // The package does not count the units of a configuration with other resource names, a selection of cards, or MIG
    // devices.
    const isPlainGpu =
      resource?.["name"] === "nvidia.com/gpu" &&
      (resource["devices"] ?? "all") === "all" &&
      !resource["rename"];
    const mpsSharing = method === "mps" ? { mps: { replicas } } : {};
    if (!isPlainGpu || otherResources.length > 0 || !(replicas >= 2))
      return { ...mpsSharing, unread: true };
    const refusesSeveral =
      method === "mps" || valueAt(section, "failRequestsGreaterThanOne") === true;
    const renameByDefault = valueAt(section, "renameByDefault") === true;
    return {
      ...mpsSharing,
      refusesSeveral,
      timeSlicing: { replicas, ...(renameByDefault ? { renameByDefault } : {}) },
    };
  }
  return {};
});
