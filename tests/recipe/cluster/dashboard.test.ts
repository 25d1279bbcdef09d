import { planCluster } from "../../../components/recipe";
import dashboard from "../../../components/recipe/cluster/dashboard.json";
import { dashboardFor, exporterRelease } from "../../../components/recipe/cluster/exporter";
import { validStack } from "../stacks";

/**
 * Metrics that are exported by default: NVIDIA/dcgm-exporter, etc/default-counters.csv, the lines that are not
 * comments.
 */
const exportedMetrics = [
  "SM_CLOCK",
  "MEM_CLOCK",
  "MEMORY_TEMP",
  "GPU_TEMP",
  "POWER_USAGE",
  "TOTAL_ENERGY_CONSUMPTION",
  "PCIE_REPLAY_COUNTER",
  "GPU_UTIL",
  "MEM_COPY_UTIL",
  "ENC_UTIL",
  "DEC_UTIL",
  "XID_ERRORS",
  "FB_FREE",
  "FB_USED",
].map((name) => `DCGM_FI_DEV_${name}`);

/** The metrics in a query. */
const metricsIn = (text: string): string[] => text.match(/DCGM_FI_[A-Z_]+/g) ?? [];

test("every panel shows metrics, and the exporter exports them all", () => {
  const metricsByPanel = dashboard.panels.map((panel) =>
    panel.targets.flatMap(({ expr }) => metricsIn(expr)),
  );
  for (const metrics of metricsByPanel) expect(metrics.length).toBeGreaterThan(0);
  expect(metricsByPanel.flat().filter((metric) => !exportedMetrics.includes(metric))).toEqual([]);
});

test("the panels use exactly the variables that the dashboard defines", () => {
  const definedVariables = dashboard.templating.list.map(({ name }) => name);
  const usedVariables = [...JSON.stringify(dashboard.panels).matchAll(/\$\{?(\w+)/g)].map(
    ([, name]) => name,
  );
  expect([...new Set(usedVariables)].sort()).toEqual([...definedVariables].sort());
});

const basePlan = planCluster(validStack("next")).kubernetes;
const planWithOperator = (version: string, values = {}) => ({
  ...basePlan,
  release: { ...basePlan.release, version, values },
});
const planWithPlugin = (dcgmExporter: string) => ({
  ...basePlan,
  mode: "devicePlugin" as const,
  images: { ...basePlan.images, dcgmExporter },
});
test.each([
  ["4.8.2", planWithOperator("v26.3.3"), "Hostname"],
  ["4.8.3", planWithOperator("v26.7.0"), "hostname"],
  [
    "4.8.1",
    planWithOperator("v26.7.0", { dcgmExporter: { version: "4.5.2-4.8.1-distroless" } }),
    "Hostname",
  ],
  ["4.9.0", planWithPlugin("nvcr.io/nvidia/k8s/dcgm-exporter:4.7.0-4.9.0-distroless"), "hostname"],
  ["4.8.2", planWithPlugin("registry.example.org/exporter:mine"), "Hostname"],
])("the dashboard uses the node label of exporter %s", (exporterVersion, plan, nodeLabel) => {
  expect(exporterRelease(plan)).toBe(exporterVersion);
  expect(new Set(dashboardFor(exporterVersion).match(/hostname/gi))).toEqual(new Set([nodeLabel]));
});

test("panels have different IDs and positions, and fit into the 24 columns of the dashboard", () => {
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const positions = dashboard.panels.map(({ gridPos }) => `${gridPos.x},${gridPos.y}`);
  expect(new Set(positions).size).toBe(positions.length);
  for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
});
