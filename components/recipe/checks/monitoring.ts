import type { Check } from "./check";
import { isMapping } from "../mapping";

/** What exports the metrics that are asked for is not switched off. */
export const monitoring: Check = {
  id: "monitoring",
  source: "gpu-operator, values.yaml, dcgmExporter",
  find: ({ spec }) => {
    const exporter = spec.gpuOperator?.values?.dcgmExporter as unknown;
    if (!spec.monitoring || !isMapping(exporter) || exporter.enabled !== false) return [];
    return {
      field: "monitoring",
      problem: "but gpuOperator.values.dcgmExporter.enabled is false",
      why: "nothing would export the metrics that the ServiceMonitor and the dashboard are for",
      remedy: "leave that value out, or monitoring",
    };
  },
};
