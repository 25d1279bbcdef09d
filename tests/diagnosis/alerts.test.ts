import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { alertRules } from "../../components/diagnosis/alerts";
import { counters } from "../../components/recipe/cluster/counters.json";
import type { Plan } from "../../components/recipe/types";
import { providePromtool } from "../../lab/tools";

// The alerts, tried by Prometheus' own code on what the DCGM exporter says.

const fixture = fs.readFileSync(path.join(__dirname, "../fixtures/alerts.yaml"), "utf8");
const plan = {
  machines: Object.entries({ "gpu-1": 2, laptop: 1, "cp-1": 0 }).map(([name, gpuCount]) => ({
    name,
    gpuCount,
  })),
  spec: { machines: { laptop: { mayBeAway: true } } },
} as unknown as Plan;
const a30 = 'device="nvidia0",modelName="NVIDIA A30"';
/** Labels of the cards, by the fixture's words for them. */
const cards: Record<string, string> = {
  "&first": `gpu="0",UUID="GPU-265c9814-6156-355b-e589-ff2064894f16",${a30},Hostname="gpu-1"`,
  "&second": `gpu="1",UUID="GPU-2d20791a-b4a6-ba59-97f1-e95b99fe5b49",${a30},Hostname="gpu-1"`,
  "&other": `gpu="0",UUID="GPU-96be9fff-fdfd-9b87-88d4-fe5b9a012148",device="nvidia0",modelName="NVIDIA GeForce RTX 3090",Hostname="laptop"`,
};

/** What later exporters call otherwise: 4.8.3 the node (dcgm-exporter#655), 4.9 more (DCGM 4.6.0, dcgmlib/dcgm_fields.h). */
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
  "each alert fires for what it is of, and for nothing else, by the words of exporter %s",
  async (_, count) => {
    const promtool = await providePromtool();
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-alerts-"));
    const rules = alertRules(plan);
    fs.writeFileSync(
      path.join(folder, "rules.yaml"),
      stringify({ groups: [{ name: "cards", rules }] }),
    );
    const words = (text: string): string =>
      renamed.slice(0, count).reduce(
        (said, [before, since]) => said.replace(before, since),
        text.replace(/&(first|second|other)/g, (word) => cards[word]!),
      );
    const tests = JSON.stringify(parse(fixture), (_key, said) =>
      typeof said === "string" ? words(said) : said,
    );
    fs.writeFileSync(
      path.join(folder, "alerts.yaml"),
      tests.replaceAll('"Hostname":', `"${words("Hostname")}":`),
    );
    try {
      execFileSync(promtool, [path.join(folder, "alerts.yaml")], {
        encoding: "utf8",
        stdio: "pipe",
      });
      const unnamed = rules.map(({ alert }) => alert).filter((alert) => !fixture.includes(alert));
      expect(unnamed).toEqual([]);
    } catch (error) {
      throw new Error((error as { stderr?: string }).stderr || String(error), { cause: error });
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  },
);

test("where a stack has alerts, the exporter says all that they are of", () => {
  const named = new Set(fixture.match(/DCGM_[A-Z_]+(?=\{)/g));
  const said = counters.map((line) => line.split(",")[0]);
  expect([...named].filter((name) => !said.includes(name))).toEqual([]);
  expect(named.size).toBeGreaterThan(5);
});
