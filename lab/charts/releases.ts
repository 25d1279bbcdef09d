import * as semver from "semver";
import type { ChartModule } from "./modules";

/** A chart that the lab has. */
export type LabChart = "gpu-operator" | "nvidia-device-plugin";

/** Where the real charts are. */
export const chartRepositories: Readonly<Record<LabChart, string>> = {
  "gpu-operator": "https://helm.ngc.nvidia.com/nvidia",
  "nvidia-device-plugin": "https://nvidia.github.io/k8s-device-plugin",
};

/**
 * The device plugin's chart, which is in the plugin's own Go module with its Node Feature Discovery subchart. The Go proxy
 * has no v0.20.0: the lab takes the nearest one for it. What 0.20.0 has more are the values `*.enableHostNetwork`.
 */
export const pluginModule = (version: string): ChartModule => ({
  module: "github.com/NVIDIA/k8s-device-plugin",
  version: `v${version}`,
  folder: "deployments/helm/nvidia-device-plugin",
});

/** Releases of the device plugin's chart that the Go proxy has, oldest first. */
export const pluginReleases: readonly string[] = ["0.17.4", "0.18.2", "0.19.3"];

/**
 * Node Feature Discovery's chart, in the Go module of its release. The operator's repository keeps a copy of each, which
 * differs in Chart.yaml alone, where releases write their version (gpu-operator v25.3.4 to v26.7.0, deployments/gpu-operator/charts).
 */
export const discoveryModule = (version: string): ChartModule => ({
  module: "sigs.k8s.io/node-feature-discovery",
  version: `v${version}`,
  folder: "deployment/helm/node-feature-discovery",
});

/** Of some releases, the newest that is not newer than the wanted one, else the oldest. */
export function nearest(releases: readonly string[], wanted: string): string {
  const known = [...releases].sort(semver.compare);
  return known.filter((release) => semver.lte(release, wanted)).at(-1) ?? known[0] ?? wanted;
}

/** A version as the chart writes it: `v25.10.1`, but `0.17.4`. */
export const written = (chart: LabChart, version: string): string =>
  chart === "gpu-operator" ? `v${version}` : version;
