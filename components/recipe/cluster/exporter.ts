import * as semver from "semver";
import type { KubernetesRecipe } from "../types";
import { valueAt } from "../mapping";
import { shortHash } from "../short-hash";
import { counters } from "./counters.json";
import gpuDashboard from "./dashboard.json";

const csv = counters.map((line) => `${line}\n`).join("");

/**
 * ConfigMap with the metrics that the exporter must export for a stack with alerts. Its key is the file name that the
 * GPU Operator expects (gpu-operator v26.7.0, controllers/object_controls.go, MetricsConfigFileName). The ConfigMap's
 * name contains a hash of its content: a new name restarts the exporter, which reads the file only at its start.
 */
export const exporterCounters = {
  configMap: `nvidia-gpu-counters-${shortHash(csv, 8)}`,
  file: "dcgm-metrics.csv",
  csv,
};

/**
 * Release of the DCGM exporter in a cluster, from the tag of its image, `<DCGM>-<exporter>`. If the image has no such
 * tag, the function returns the default of the operator's chart (values.yaml of v26.3.3: 4.8.2, of v26.7.0: 4.8.3), or
 * 4.8.2 in a cluster without the operator.
 */
export function exporterRelease({ mode, release, images }: KubernetesRecipe): string {
  const statedVersion = valueAt(release.values, "dcgmExporter", "version");
  const tag =
    mode === "operator"
      ? typeof statedVersion === "string"
        ? statedVersion
        : ""
      : images.dcgmExporter;
  const isNew =
    mode === "operator" && semver.gte(semver.coerce(release.version) ?? "0.0.0", "26.7.0");
  return /\d{1,9}\.\d{1,9}\.\d{1,9}-(\d+\.\d+\.\d+)/.exec(tag)?.[1] ?? (isNew ? "4.8.3" : "4.8.2");
}

/**
 * The dashboard for an exporter's release, as text. Release 4.8.3 renamed the label with the node's name from
 * `Hostname` to `hostname` (dcgm-exporter#655).
 */
export function dashboardFor(exporter: string): string {
  const text = JSON.stringify(gpuDashboard, undefined, 2);
  return semver.gte(exporter, "4.8.3") ? text.replaceAll("Hostname", "hostname") : text;
}
