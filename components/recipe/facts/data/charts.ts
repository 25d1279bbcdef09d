/**
 * Values of the charts, as data: every path that a chart's values or templates know, with its type. A value at any other
 * path has no effect, and Helm says nothing about it.
 * Source: values.yaml and templates of NVIDIA/gpu-operator and NVIDIA/k8s-device-plugin at the named releases.
 */
import gpuOperatorV25_3_4 from "./charts/gpu-operator-v25.3.4.json";
import gpuOperatorV25_10_1 from "./charts/gpu-operator-v25.10.1.json";
import gpuOperatorV26_3_1 from "./charts/gpu-operator-v26.3.1.json";
import gpuOperatorV26_3_3 from "./charts/gpu-operator-v26.3.3.json";
import gpuOperatorV26_7_0 from "./charts/gpu-operator-v26.7.0.json";
import nodeFeatureDiscovery from "./charts/node-feature-discovery.json";
import devicePluginV0_17_4 from "./charts/nvidia-device-plugin-v0.17.4.json";
import devicePluginV0_18_2 from "./charts/nvidia-device-plugin-v0.18.2.json";
import devicePluginV0_19_3 from "./charts/nvidia-device-plugin-v0.19.3.json";
import devicePluginV0_20_0 from "./charts/nvidia-device-plugin-v0.20.0.json";

/** One release of a chart. */
export interface ChartValues {
  chart: string;
  version: string;
  /** Keys whose content belongs to another chart: Node Feature Discovery's, under its name or another. */
  subcharts: string[];
  /** Type by path: `boolean`, `string`, `number`, `array`; `object` and `any` may hold anything. */
  paths: Record<string, string>;
}

/** Oldest first within a chart. */
export const charts: ChartValues[] = [
  gpuOperatorV25_3_4,
  gpuOperatorV25_10_1,
  gpuOperatorV26_3_1,
  gpuOperatorV26_3_3,
  gpuOperatorV26_7_0,
  devicePluginV0_17_4,
  devicePluginV0_18_2,
  devicePluginV0_19_3,
  devicePluginV0_20_0,
];

/**
 * Values of Node Feature Discovery, which both charts bring: what any of the releases knows that they bring, or that came after.
 * Source: values.yaml and templates of kubernetes-sigs/node-feature-discovery v0.17.3, v0.18.2, v0.18.3 and v0.19.0.
 */
export const discoveryValues: ChartValues = nodeFeatureDiscovery;
