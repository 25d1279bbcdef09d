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
 * Labels that later exporters renamed: 4.8.3 that of the node (dcgm-exporter#655), 4.9 further ones (DCGM 4.6.0,
 * dcgmlib/dcgm_fields.h).
 */
const renamed = [
  [/Hostname/g, "hostname"],
  [/XID_ERRORS/g, "XID_ERROR"],
  [/ROW_REMAP_FAILURE/g, "ROW_REMAP_FAILED"],
  [/DEV_GPU_TEMP/g, "DEV_GPU_TEMP_CELSIUS"],
] as const;

test.each([
  ["4.8.2", 0],
  ["4.8.3", 1],
  ["4.9.0", 4],
])(
  "with the metric names of exporter %s, each alert fires for exactly its failure",
  async (_, count) => {
    const promtool = await providePromtool();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-alerts-"));
    const rules = alertRules(plan);
    fs.writeFileSync(
      path.join(folder, "rules.yaml"),
      stringify({ groups: [{ name: "cards", rules }] }),
    );
    const file = renamed
      .slice(0, count)
      .reduce(
        (text, [before, since]) => text.replace(before, since),
        promtoolFile("rules.yaml", alertCases),
      );
    fs.writeFileSync(path.join(folder, "alerts.yaml"), file);
    try {
      execFileSync(promtool, [path.join(folder, "alerts.yaml")], {
        encoding: "utf8",
        stdio: "pipe",
      });
      const unnamed = rules.map(({ alert }) => alert).filter((alert) => !file.includes(alert));
      expect(unnamed).toEqual([]);
    } catch (error) {
      throw new Error((error as { stderr?: string }).stderr || String(error), { cause: error });
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  },
);

test("the exporter of a stack with alerts exports every metric of the alerts", () => {
  const named = new Set(alertCases.flatMap(({ reports }) => reports.map(({ metric }) => metric)));
  const said = counters.map((line) => line.split(",")[0]);
  expect([...named].filter((name) => !said.includes(name))).toEqual([]);
  expect(named.size).toBeGreaterThan(5);
});
