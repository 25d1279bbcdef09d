import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { stringify } from "yaml";
import { alertRules } from "../../components/diagnosis/alerts";
import { counters } from "../../components/recipe/cluster/counters.json";
import type { Plan } from "../../components/recipe/types";
import { providePromtool } from "../../lab/tools";
import { alertCases } from "./alert-cases";
import { promtoolFile } from "./promtool";

// The alerts, evaluated by Prometheus' own code on metrics of the DCGM exporter.

const plan = {
  machines: Object.entries({ "gpu-1": 2, laptop: 1, "cp-1": 0 }).map(([name, gpuCount]) => ({
    name,
    gpuCount,
  })),
  spec: { machines: { laptop: { mayBeAway: true } } },
} as unknown as Plan;

/**
 * Names that later exporters changed: 4.8.3 that of the node's label (dcgm-exporter#655), 4.9 those of metrics
 * (DCGM 4.6.0, dcgmlib/dcgm_fields.h).
 */
const nodeLabel = { oldName: /Hostname/g, newName: "hostname" };
const metricNames = [
  { oldName: /XID_ERRORS/g, newName: "XID_ERROR" },
  { oldName: /ROW_REMAP_FAILURE/g, newName: "ROW_REMAP_FAILED" },
  { oldName: /DEV_GPU_TEMP/g, newName: "DEV_GPU_TEMP_CELSIUS" },
];

test.each([
  { exporter: "4.8.2", renames: [] },
  { exporter: "4.8.3", renames: [nodeLabel] },
  { exporter: "4.9.0", renames: [nodeLabel, ...metricNames] },
])(
  "with the names of exporter $exporter, each alert fires for exactly its failure",
  async ({ renames }) => {
    const promtool = await providePromtool();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-alerts-"));
    const rules = alertRules(plan);
    fs.writeFileSync(
      path.join(folder, "rules.yaml"),
      stringify({ groups: [{ name: "cards", rules }] }),
    );
    const testFile = renames.reduce(
      (text, { oldName, newName }) => text.replace(oldName, newName),
      promtoolFile("rules.yaml", alertCases),
    );
    fs.writeFileSync(path.join(folder, "alerts.yaml"), testFile);
    try {
      execFileSync(promtool, [path.join(folder, "alerts.yaml")], {
        encoding: "utf8",
        stdio: "pipe",
      });
      const untestedAlerts = rules
        .map(({ alert }) => alert)
        .filter((alert) => !testFile.includes(alert));
      expect(untestedAlerts).toEqual([]);
    } catch (error) {
      throw new Error((error as { stderr?: string }).stderr || String(error), { cause: error });
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  },
);

test("the exporter of a stack with alerts exports every metric that the alerts' test cases use", () => {
  const metrics = new Set(alertCases.flatMap(({ series }) => series.map(({ metric }) => metric)));
  const exportedMetrics = counters.map((line) => line.split(",")[0]);
  expect([...metrics].filter((name) => !exportedMetrics.includes(name))).toEqual([]);
  expect(metrics.size).toBeGreaterThan(5);
});
