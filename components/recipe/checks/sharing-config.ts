import type { Check, Found } from "./check";
import { pluginConfigPlaces } from "../machine/own-sharing";
import { valueAt } from "../mapping";

/** Sharing is said once: by the stack, or by the device plugin's own configuration. */
export const sharingConfigCheck: Check = {
  id: "sharing-config",
  source:
    "k8s-device-plugin v0.17.4 to v0.19.3, deployments/helm/nvidia-device-plugin/templates/validation.yml (config.name beside config.map); gpu-operator, templates/plugin_config.yaml",
  find: ({ spec }) => {
    if (!spec.sharing?.timeSlicing) return [];
    return pluginConfigPlaces.flatMap(({ field, section, texts }): Found => {
      const config = valueAt(spec[field]?.values, ...section);
      const said = ([key, value]: readonly [string, unknown]): boolean =>
        value !== undefined && value !== null && key !== "";
      const rivals = [
        ["name", valueAt(config, "name")],
        ["default", valueAt(config, "default") === "default" ? undefined : valueAt(config, "default")],
        [`${texts}.default`, valueAt(config, texts, "default")],
      ] as const;
      return rivals.filter(said).map(([key]) => ({
        field: `${field}.values.${[...section, key].join(".")}`,
        problem: "names a configuration of the device plugin beside sharing",
        why: "the plugin uses one configuration per node: the chart refuses two, or your configuration replaces the one made from `sharing`, and the node offers another number of GPUs",
        remedy: "leave it out, or leave sharing out and say it all in your configuration",
      }));
    });
  },
};
