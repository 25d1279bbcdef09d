import { sharingConfig } from "../facts/sharing";
import type { ClusterSpec, DevicePluginSpec } from "../stack/spec/index";
import type { PodToleration, ReleaseRecipe } from "../types";
import { mergeValues } from "./values";

/** The standalone device plugin's release. */
export function pluginRelease(
  plugin: DevicePluginSpec,
  spec: ClusterSpec,
  tolerations: PodToleration[],
  nodeSelector: Record<string, string>,
  deviceListStrategy: string,
): ReleaseRecipe {
  const config = sharingConfig(spec.sharing);
  const ours = {
    runtimeClassName: "nvidia",
    nodeSelector,
    // The chart's own entry comes along, as a list takes the place of the chart's.
    tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }, ...tolerations],
    deviceListStrategy,
    ...(config === undefined ? {} : { config: { map: { default: config }, default: "default" } }),
    ...(spec.sharing?.mig ? { migStrategy: spec.sharing.mig.strategy } : {}),
  };
  return {
    name: "nvidia-device-plugin",
    namespace: plugin.namespace ?? "nvidia-device-plugin",
    chart: "nvidia-device-plugin",
    repository: "https://nvidia.github.io/k8s-device-plugin",
    version: plugin.version.replace(/^v/, ""),
    values: mergeValues(ours, plugin.values),
  };
}
