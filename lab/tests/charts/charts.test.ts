import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { charts } from "../../../components/recipe/facts/data/charts";
import { chartOfField, releaseFields } from "../../../components/recipe/facts/gpu-provider";
import { chartVersions, type LabChart } from "../../charts";
import { folderOfChart, render, runHelm, describeWithHelm } from "./render";

const chartReleases = releaseFields
  .map(chartOfField)
  .flatMap((chart) => chartVersions(chart).map((version) => [chart, version] as const));

/** Values that a chart requires before it renders. */
const requiredValues: Partial<Record<LabChart, object>> = {
  "dra-driver-nvidia-gpu": { gpuResourcesEnabledOverride: true },
};

test("the lab has every chart release that the recipe knows, except those that the Go proxy lacks", () => {
  expect(
    [
      ...chartReleases.map(([chart, version]) => `${chart} ${version.replace(/^v/, "")}`),
      "nvidia-device-plugin 0.20.0",
      "lws 0.10.0",
    ].sort(),
  ).toEqual(charts.map((chart) => `${chart.chart} ${chart.version}`).sort());
});

test.each<[LabChart, string, string, RegExp]>([
  ["gpu-operator", "25.10.1", "gpu-operator-v25.10.1", /^appVersion: v25\.10\.1$/m],
  ["nvidia-device-plugin", "v0.17.4", "nvidia-device-plugin-0.17.4", /^appVersion: "0\.17\.4"$/m],
  // The Go proxy lacks this release, so the folder has the nearest one under the requested name.
  ["nvidia-device-plugin", "0.20.0", "nvidia-device-plugin-0.20.0", /^appVersion: "0\.20\.0"$/m],
  ["gpu-operator", "v26.3.2", "gpu-operator-v26.3.2", /^appVersion: v26\.3\.2$/m],
])(
  "the folder of the chart %s %s is %s, and its Chart.yaml has that appVersion",
  async (chart, version, name, pattern) => {
    const chartFolder = await folderOfChart(chart, version);
    expect(path.basename(chartFolder)).toBe(name);
    expect(readFileSync(path.join(chartFolder, "Chart.yaml"), "utf8")).toMatch(pattern);
  },
);

// Compares the recipe's table of values with the chart itself, as NVIDIA tagged it.
test.each(chartReleases.filter(([chart]) => chart !== "gpu-operator"))(
  "the recipe knows exactly the values of the real chart %s %s",
  async (chart, version) => {
    const chartFolder = await folderOfChart(chart, version);
    const facts = charts.find((known) => known.chart === chart && known.version === version)!;
    const knownPaths = Object.keys(facts.paths);
    const isKnown = (name: string): boolean =>
      facts.subcharts.includes(name.split(".")[0]!) ||
      knownPaths.some((knownPath) => containsOrIsIn(knownPath, name));
    const defaults = leafPaths(
      parse(readFileSync(path.join(chartFolder, "values.yaml"), "utf8")) as object,
    );
    const templates = readdirSync(path.join(chartFolder, "templates"), {
      recursive: true,
      encoding: "utf8",
    })
      .filter((file) => /\.(ya?ml|tpl)$/.test(file))
      .map((file) => readFileSync(path.join(chartFolder, "templates", file), "utf8"));
    const usedPaths = [...templates.join("\n").matchAll(/\.Values\.([A-Za-z.]+)/g)].map(
      ([, name]) => name!,
    );
    expect([...defaults, ...usedPaths].filter((name) => !isKnown(name))).toEqual([]);
    // The table must not have a value that the chart lacks.
    const valuePaths = [...new Set([...defaults, ...usedPaths])];
    const isInChart = (name: string): boolean =>
      valuePaths.some((valuePath) => containsOrIsIn(valuePath, name));
    expect(knownPaths.filter((name) => !isInChart(name))).toEqual([]);
  },
);

describeWithHelm("with Helm", () => {
  test.each(chartReleases)(
    "%s %s passes helm lint, and renders with its defaults and required values",
    async (chart, version) => {
      const lint = await runHelm([
        "lint",
        "--namespace",
        "gpu",
        await folderOfChart(chart, version),
      ]);
      expect(lint.output).toContain("0 chart(s) failed");
      expect(lint.code).toBe(0);
      const rendered = await render(chart, version, requiredValues[chart]);
      expect(rendered.error).toBe("");
      expect(rendered.code).toBe(0);
      expect(rendered.objects).not.toEqual([]);
      for (const object of rendered.objects)
        expect(object).toMatchObject({ apiVersion: expect.any(String) });
    },
  );
});

/** Whether two dotted paths of values are equal, or one of them lies below the other. */
const containsOrIsIn = (valuePath: string, otherPath: string): boolean =>
  valuePath === otherPath ||
  valuePath.startsWith(`${otherPath}.`) ||
  otherPath.startsWith(`${valuePath}.`);

/** Paths of all values that are not mappings themselves; an empty mapping counts as a value. */
function leafPaths(values: object, prefix = ""): string[] {
  return Object.entries(values).flatMap(([key, value]) =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length > 0
      ? leafPaths(value as object, `${prefix}${key}.`)
      : [`${prefix}${key}`],
  );
}
