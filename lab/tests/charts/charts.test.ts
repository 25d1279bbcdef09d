import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { charts } from "../../../components/recipe/facts/data/charts";
import { chartOfField, releaseFields } from "../../../components/recipe/facts/gpu-provider";
import { chartVersions, type LabChart } from "../../charts";
import { folder, render, run, withHelm } from "./render";

const all = releaseFields
  .map(chartOfField)
  .flatMap((chart) => chartVersions(chart).map((version) => [chart, version] as const));

/** Values that a chart requires before it renders. */
const least: Partial<Record<LabChart, object>> = {
  "dra-driver-nvidia-gpu": { gpuResourcesEnabledOverride: true },
};

test("the lab has every chart release that the recipe knows, except those that the Go proxy lacks", () => {
  expect(
    [
      ...all.map(([chart, version]) => `${chart} ${version.replace(/^v/, "")}`),
      "nvidia-device-plugin 0.20.0",
      "lws 0.10.0",
    ].sort(),
  ).toEqual(charts.map((chart) => `${chart.chart} ${chart.version}`).sort());
});

test.each<[LabChart, string, string, RegExp]>([
  ["gpu-operator", "25.10.1", "gpu-operator-v25.10.1", /^appVersion: v25\.10\.1$/m],
  ["nvidia-device-plugin", "v0.17.4", "nvidia-device-plugin-0.17.4", /^appVersion: "0\.17\.4"$/m],
  // The Go proxy lacks this release, so the folder has the nearest one under the wanted name.
  ["nvidia-device-plugin", "0.20.0", "nvidia-device-plugin-0.20.0", /^appVersion: "0\.20\.0"$/m],
  ["gpu-operator", "v26.3.2", "gpu-operator-v26.3.2", /^appVersion: v26\.3\.2$/m],
])("the chart %s %s is written to the folder %s", async (chart, version, name, says) => {
  const made = await folder(chart, version);
  expect(path.basename(made)).toBe(name);
  expect(readFileSync(path.join(made, "Chart.yaml"), "utf8")).toMatch(says);
});

// Compares the recipe's table of values with the chart itself, as NVIDIA tagged it.
test.each(all.filter(([chart]) => chart !== "gpu-operator"))(
  "the recipe knows exactly the values of the real chart %s %s",
  async (chart, version) => {
    const made = await folder(chart, version);
    const facts = charts.find((each) => each.chart === chart && each.version === version)!;
    const known = Object.keys(facts.paths);
    const isKnown = (wanted: string): boolean =>
      facts.subcharts.includes(wanted.split(".")[0]!) ||
      known.some(
        (each) => each === wanted || each.startsWith(`${wanted}.`) || wanted.startsWith(`${each}.`),
      );
    const defaults = leaves(parse(readFileSync(path.join(made, "values.yaml"), "utf8")) as object);
    const templates = readdirSync(path.join(made, "templates"), {
      recursive: true,
      encoding: "utf8",
    })
      .filter((file) => /\.(ya?ml|tpl)$/.test(file))
      .map((file) => readFileSync(path.join(made, "templates", file), "utf8"));
    const read = [...templates.join("\n").matchAll(/\.Values\.([A-Za-z.]+)/g)].map(
      ([, name]) => name!,
    );
    expect([...defaults, ...read].filter((name) => !isKnown(name))).toEqual([]);
    // The table must not have a value that the chart lacks.
    const has = new Set([...defaults, ...read]);
    const unknown = known.filter(
      (name) =>
        ![...has].some(
          (each) => each === name || each.startsWith(`${name}.`) || name.startsWith(`${each}.`),
        ),
    );
    expect(unknown).toEqual([]);
  },
);

withHelm("with Helm", () => {
  test.each(all)(
    "%s %s passes helm lint, and renders with its defaults",
    async (chart, version) => {
      const lint = await run(["lint", "--namespace", "gpu", await folder(chart, version)]);
      expect([lint.code, lint.out]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
      const rendered = await render(chart, version, least[chart]);
      expect([rendered.code, rendered.error]).toEqual([0, ""]);
      expect(rendered.objects).not.toEqual([]);
      for (const object of rendered.objects)
        expect(object).toMatchObject({ apiVersion: expect.any(String) });
    },
  );
});

/** Paths of all values that are not mappings themselves; an empty mapping counts as a value. */
function leaves(values: object, at = ""): string[] {
  return Object.entries(values).flatMap(([key, value]) =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length > 0
      ? leaves(value as object, `${at}${key}.`)
      : [`${at}${key}`],
  );
}
