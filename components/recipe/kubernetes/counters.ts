import { shortHash } from "../short-hash";
import { counters } from "./counters.json";

const csv = counters.map((line) => `${line}\n`).join("");

/**
 * What the exporter is to say where a stack has alerts. The file has the name by which the GPU Operator mounts it (gpu-operator v26.7.0,
 * controllers/object_controls.go, MetricsConfigFileName); the ConfigMap's follows from the content, since the exporter reads it at its start.
 */
export const exporterCounters = {
  configMap: `nvidia-gpu-counters-${shortHash(csv, 8)}`,
  file: "dcgm-metrics.csv",
  csv,
};
