import * as semver from "semver";
import type { ChartName } from "../../components/recipe/facts/chart";
import { leaderWorkerSet, gpuProviders } from "../../components/recipe/facts/gpu-provider";
import type { ChartModule } from "./modules";

/** A chart that the lab has. */
export type LabChart = ChartName;

/** Repository of the real charts. */
export const chartRepositories: Readonly<Record<LabChart, string>> = {
  "gpu-operator": gpuProviders.operator.repository,
  "nvidia-device-plugin": gpuProviders.devicePlugin.repository,
  "dra-driver-nvidia-gpu": gpuProviders.dra.repository,
  lws: leaderWorkerSet.repository,
};

/**
 * Charts that are in the Go modules of their programs, and their releases on the Go proxy, oldest first. The proxy
 * lacks v0.20.0 of the device plugin, whose chart contains Node Feature Discovery, and v0.10.0 of LeaderWorkerSet.
 * The lab uses the nearest release instead. The plugin's 0.20.0 also has the values `*.enableHostNetwork`, and
 * LeaderWorkerSet's 0.10.0 has `priorityClassName`.
 */
const moduleCharts = {
  "nvidia-device-plugin": {
    module: "github.com/NVIDIA/k8s-device-plugin",
    releases: ["0.17.4", "0.18.2", "0.19.3"],
  },
  "dra-driver-nvidia-gpu": { module: "sigs.k8s.io/dra-driver-nvidia-gpu", releases: ["0.5.0"] },
  lws: { module: "sigs.k8s.io/lws", releases: ["0.9.0"] },
};

type RealChart = keyof typeof moduleCharts;

/** Releases of a chart that the Go proxy has, oldest first. */
export const moduleReleases = (chart: RealChart): readonly string[] => moduleCharts[chart].releases;

/** Path of a chart in the Go module of its release. */
export const programModule = (chart: RealChart, version: string): ChartModule => ({
  module: moduleCharts[chart].module,
  version: `v${version}`,
  folder: `${chart === "lws" ? "charts" : "deployments/helm"}/${chart}`,
});

/**
 * Node Feature Discovery's chart, in the Go module of its release. The operator's repository keeps a copy of each, which
 * differs in Chart.yaml alone, where releases write their version (gpu-operator v25.3.4 to v26.7.0, deployments/gpu-operator/charts).
 */
export const discoveryModule = (version: string): ChartModule => ({
  module: "sigs.k8s.io/node-feature-discovery",
  version: `v${version}`,
  folder: "deployment/helm/node-feature-discovery",
});

/** The nearest of some releases: the newest that is not newer than the requested one, else the oldest. */
export function nearestRelease(releases: readonly string[], requested: string): string {
  const sorted = [...releases].sort(semver.compare);
  return (
    sorted.filter((release) => semver.lte(release, requested)).at(-1) ?? sorted[0] ?? requested
  );
}

/** A version in the chart's notation: `v25.10.1`, but `0.17.4`. */
export const inChartNotation = (chart: LabChart, version: string): string =>
  chart === "gpu-operator" ? `v${version}` : version;
