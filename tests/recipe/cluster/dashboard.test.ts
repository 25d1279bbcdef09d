import { planCluster } from "../../../components/recipe";
import dashboard from "../../../components/recipe/cluster/dashboard.json";
import { dashboardFor, exporterRelease } from "../../../components/recipe/cluster/exporter";
import { validStack } from "../stacks";

/**
 * Metrics that are exported by default: NVIDIA/dcgm-exporter, etc/default-counters.csv, the lines that are not
 * comments.
 */
const exported = [
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

const used = (text: string): string[] => text.match(/DCGM_FI_[A-Z_]+/g) ?? [];

test("every panel shows a metric that the exporter exports", () => {
  const shown = dashboard.panels.map((panel) => panel.targets.flatMap(({ expr }) => used(expr)));
  for (const metrics of shown) expect(metrics.length).toBeGreaterThan(0);
  expect(shown.flat().filter((metric) => !exported.includes(metric))).toEqual([]);
});

test("every variable of a panel is defined", () => {
  const names = dashboard.templating.list.map(({ name }) => name);
  const referred = [...JSON.stringify(dashboard.panels).matchAll(/\$\{?(\w+)/g)].map(
    ([, name]) => name,
  );
  expect([...new Set(referred)].sort()).toEqual([...names].sort());
});

const base = planCluster(validStack("next")).kubernetes;
const operatorOf = (version: string, values = {}) => ({
  ...base,
  release: { ...base.release, version, values },
});
const pluginOf = (dcgmExporter: string) => ({
  ...base,
  mode: "devicePlugin" as const,
  images: { ...base.images, dcgmExporter },
});
test.each([
  ["4.8.2", operatorOf("v26.3.3"), "Hostname"],
  ["4.8.3", operatorOf("v26.7.0"), "hostname"],
  [
    "4.8.1",
    operatorOf("v26.7.0", { dcgmExporter: { version: "4.5.2-4.8.1-distroless" } }),
    "Hostname",
  ],
  ["4.9.0", pluginOf("nvcr.io/nvidia/k8s/dcgm-exporter:4.7.0-4.9.0-distroless"), "hostname"],
  ["4.8.2", pluginOf("registry.example.org/exporter:mine"), "Hostname"],
])("the dashboard uses the node label of exporter %s", (release, recipe, label) => {
  expect(exporterRelease(recipe)).toBe(release);
  expect(new Set(dashboardFor(release).match(/hostname/gi))).toEqual(new Set([label]));
});

test("panels have different IDs and do not overlap", () => {
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const cells = dashboard.panels.map(({ gridPos }) => `${gridPos.x},${gridPos.y}`);
  expect(new Set(cells).size).toBe(cells.length);
  for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
});
