/**
 * Values of the charts, as data: every path that a chart's values or templates know, with its type. A value at any other
 * path has no effect, and Helm says nothing about it.
 * Source: values.yaml and templates of NVIDIA/gpu-operator, NVIDIA/k8s-device-plugin, kubernetes-sigs/dra-driver-nvidia-gpu and
 * kubernetes-sigs/lws at the named releases.
 */
import draDriver from "./charts/dra-driver-nvidia-gpu.json";
import gpuOperator from "./charts/gpu-operator.json";
import leaderWorkerSet from "./charts/lws.json";
import nodeFeatureDiscovery from "./charts/node-feature-discovery.json";
import devicePlugin from "./charts/nvidia-device-plugin.json";

/** One release of a chart. */
export interface ChartValues {
  chart: string;
  version: string;
  /** Keys whose content belongs to another chart: Node Feature Discovery's, under its name or another. */
  subcharts: string[];
  /** Type by path: `boolean`, `string`, `number`, `array`; `object` and `any` may hold anything. */
  paths: Record<string, string>;
}

/** Releases of a chart, oldest first: the paths of the first one, and what each later one changed. `null`: it has the path no longer. */
interface ChartFile {
  chart: string;
  subcharts: string[];
  releases: { version: string; paths: Record<string, string | null> }[];
}

const releasesOf = ({ chart, subcharts, releases }: ChartFile): ChartValues[] => {
  let paths: Record<string, string | null> = {};
  return releases.map(({ version, paths: changed }) => {
    paths = { ...paths, ...changed };
    const known = Object.entries(paths).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    );
    return {
      chart,
      version,
      subcharts,
      paths: Object.fromEntries(known.sort(([a], [b]) => (a < b ? -1 : 1))),
    };
  });
};

/** Oldest first within a chart. */
export const charts: ChartValues[] = [
  gpuOperator as ChartFile,
  devicePlugin as ChartFile,
  draDriver as ChartFile,
  leaderWorkerSet as ChartFile,
].flatMap(releasesOf);

/**
 * Values of Node Feature Discovery, which both charts bring: what any of the releases knows that they bring, or that came after.
 * Source: values.yaml and templates of kubernetes-sigs/node-feature-discovery v0.17.3, v0.18.2, v0.18.3 and v0.19.0.
 */
export const discoveryValues: ChartValues = nodeFeatureDiscovery;
