/**
 * Values of the charts, as data: every path that a chart's values or templates have, with its type. Helm silently
 * ignores a value at any other path. Source: values.yaml and templates of NVIDIA/gpu-operator,
 * NVIDIA/k8s-device-plugin, kubernetes-sigs/dra-driver-nvidia-gpu and kubernetes-sigs/lws at the named releases.
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
  /** Keys of the values for the subchart Node Feature Discovery: its name or an alias. */
  subcharts: string[];
  /** Type by path: `boolean`, `string`, `number`, `array`; `object` and `any` may hold anything. */
  paths: Record<string, string>;
}

/**
 * Releases of a chart, oldest first. The first release has all its paths; each later release has only its changes since
 * the previous release. `null` removes a path.
 */
interface ChartFile {
  chart: string;
  subcharts: string[];
  releases: { version: string; paths: Record<string, string | null> }[];
}

const releasesOf = ({ chart, subcharts, releases }: ChartFile): ChartValues[] => {
  let paths: Record<string, string | null> = {};
  return releases.map(({ version, paths: changedPaths }) => {
    paths = { ...paths, ...changedPaths };
    const presentPaths = Object.entries(paths).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    );
    return {
      chart,
      version,
      subcharts,
      paths: Object.fromEntries(presentPaths.sort(([a], [b]) => (a < b ? -1 : 1))),
    };
  });
};

/** All releases in the tables, oldest first within a chart. */
export const charts: ChartValues[] = [
  gpuOperator as ChartFile,
  devicePlugin as ChartFile,
  draDriver as ChartFile,
  leaderWorkerSet as ChartFile,
].flatMap(releasesOf);

/**
 * Values of Node Feature Discovery, a subchart of the GPU Operator's and the device plugin's chart. The table has all
 * values of the releases that these charts contain, and of later releases. Source: values.yaml and templates of
 * kubernetes-sigs/node-feature-discovery v0.17.3, v0.18.2, v0.18.3 and v0.19.0.
 */
export const discoveryValues: ChartValues = nodeFeatureDiscovery;
