import { dcgmMetrics } from "../../../components/recipe/facts/data/dcgm";
import { gpuDashboard } from "../../../components/recipe/kubernetes/dashboard";

/** Exported by default: NVIDIA/dcgm-exporter, etc/default-counters.csv, the lines without a comment sign. */
const exported = [
  ...["SM_CLOCK", "MEM_CLOCK", "MEMORY_TEMP", "GPU_TEMP", "POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION"],
  ...["PCIE_REPLAY_COUNTER", "GPU_UTIL", "MEM_COPY_UTIL", "ENC_UTIL", "DEC_UTIL", "XID_ERRORS", "FB_FREE", "FB_USED"],
].map((name) => `DCGM_FI_DEV_${name}`);

const dashboard = gpuDashboard() as any;
const used = (text: string): string[] => text.match(/DCGM_FI_[A-Z_]+/g) ?? [];

test("every metric is one that the exporter exports, and each of the table is shown", () => {
  const shown = dashboard.panels.flatMap((panel: any) => panel.targets.flatMap(({ expr }: any) => used(expr)));
  expect(shown.filter((metric: string) => !exported.includes(metric))).toEqual([]);
  expect([...new Set(shown)].sort()).toEqual(Object.values(dcgmMetrics).sort());
});

test("variables that the panels refer to are there", () => {
  const names = dashboard.templating.list.map(({ name }: any) => name);
  const referred = [...JSON.stringify(dashboard.panels).matchAll(/\$\{?(\w+)/g)].map(([, name]) => name);
  expect([...new Set(referred)].sort()).toEqual([...names].sort());
});

test("panels have ids of their own and do not lie on each other", () => {
  const ids = dashboard.panels.map(({ id }: any) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const cells = dashboard.panels.map(({ gridPos }: any) => `${gridPos.x},${gridPos.y}`);
  expect(new Set(cells).size).toBe(cells.length);
  for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
});
