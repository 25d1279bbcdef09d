import * as semver from "semver";
import type { KubernetesRecipe } from "../types";
import { valueAt } from "../mapping";
import { shortHash } from "../short-hash";
import { counters } from "./counters.json";
import gpuDashboard from "./dashboard.json";

const csv = counters.map((line) => `${line}\n`).join("");

/**
 * Metrics that the exporter must export for a stack with alerts. The file has the name under which the GPU Operator
 * mounts it (gpu-operator v26.7.0, controllers/object_controls.go, MetricsConfigFileName); the ConfigMap's name follows
 * from its content, since the exporter reads the file only at its start.
 */
export const exporterCounters = {
  configMap: `nvidia-gpu-counters-${shortHash(csv, 8)}`,
  file: "dcgm-metrics.csv",
  csv,
};

/**
 * Release of the DCGM exporter in a cluster. The operator's default is in its values.yaml (v26.3.3: 4.8.2, v26.7.0:
 * 4.8.3). The tag of an image is `<DCGM>-<exporter>`. An image without this tag counts as the stack's own exporter.
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
 * The dashboard for an exporter's release, as text. Release 4.8.3 renamed the label of the node (dcgm-exporter#655).
 */
export function dashboardFor(exporter: string): string {
  const text = JSON.stringify(gpuDashboard, undefined, 2);
  return semver.gte(exporter, "4.8.3") ? text.replaceAll("Hostname", "hostname") : text;
}
