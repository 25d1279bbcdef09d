import { mkdtempSync, readdirSync } from "node:fs";
import * as path from "node:path";
import { charts } from "../../../components/recipe/facts/data/charts";
import { chartFolder, chartRepositories, chartVersions } from "../../../lab/charts";
import { valuesSchema } from "../../../lab/charts/schema";
import { dir, folder, render, run, withHelm } from "./render";

const all = Object.keys(chartRepositories).flatMap((chart) =>
  chartVersions(chart).map((version) => [chart, version] as const),
);

test("has the releases whose values are known", () => {
  expect(all.map(([chart, version]) => `${chart} ${version.replace(/^v/, "")}`).sort()).toEqual(
    charts.map((chart) => `${chart.chart} ${chart.version}`).sort(),
  );
});

test("takes a version with or without its v, and the newest without one", async () => {
  expect(path.basename(await folder("gpu-operator", "25.10.1"))).toBe("gpu-operator-v25.10.1");
  expect(path.basename(await folder("nvidia-device-plugin", "v0.17.4"))).toBe("nvidia-device-plugin-0.17.4");
  expect(path.basename(await folder("nvidia-device-plugin"))).toBe("nvidia-device-plugin-0.20.0");
  expect(path.basename(await folder("nvidia-device-plugin", ""))).toBe("nvidia-device-plugin-0.20.0");
});

test.each([
  ["https://helm.ngc.nvidia.com/nvidia", "gpu-operator", "v25.3.3", "v25.3.4, v25.10.1"],
  ["https://helm.ngc.nvidia.com/nvidia", "gpu-operator", "newest", "not found"],
  ["https://example.org", "gpu-operator", "v25.10.1", "it is in https://helm.ngc.nvidia.com/nvidia"],
  ["https://example.org", "nginx", "1.0.0", "gpu-operator, nvidia-device-plugin"],
])("%s %s %s is an error that says what there is", async (repo, chart, version, message) => {
  await expect(chartFolder(dir, repo, chart, version)).rejects.toThrow(message);
});

test("is written once, whole, however many ask for it at a time", async () => {
  const apart = mkdtempSync(path.join(dir, "apart-"));
  const home = chartRepositories["gpu-operator"]!;
  const asked = Array.from({ length: 5 }, () => chartFolder(apart, home, "gpu-operator", "v26.3.3"));
  expect(new Set(await Promise.all(asked))).toEqual(new Set([path.join(apart, "gpu-operator-v26.3.3")]));
  expect(readdirSync(apart)).toEqual(["gpu-operator-v26.3.3"]);
  expect(readdirSync(path.join(apart, "gpu-operator-v26.3.3")).sort()).toEqual(
    ["Chart.yaml", "crds", "templates", "values.schema.json", "values.yaml"].sort(),
  );
});

test("the schema closes sections and leaves what is taken as a whole open", () => {
  const schema = valuesSchema({
    subcharts: ["nfd"],
    paths: {
      "a.b": "string",
      "a.c.d": "array",
      affinity: "any",
      "affinity.deep.er": "array",
      "nfd.enabled": "boolean",
    },
  });
  expect(schema).toMatchObject({
    additionalProperties: false,
    properties: {
      a: {
        additionalProperties: false,
        properties: { b: {}, c: { additionalProperties: false, properties: { d: {} } } },
      },
      affinity: {},
      nfd: {},
      global: {},
    },
  });
  expect((schema["properties"] as any).affinity).toEqual({});
});

withHelm("with Helm", () => {
  test.each(all)("%s %s is a chart without a finding, and its defaults render", async (chart, version) => {
    const lint = await run(["lint", "--strict", "--namespace", "gpu", await folder(chart, version)]);
    expect([lint.code, lint.out]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
    const rendered = await render(chart, version);
    expect([rendered.code, rendered.error]).toEqual([0, ""]);
    for (const object of rendered.objects) expect(object).toMatchObject({ apiVersion: expect.any(String) });
  });

  test.each(["devicePlugin", "toolkit", "driver", "dcgmExporter", "gfd"])(
    "refuses %s.nodeSelector",
    async (section) => {
      const { code, error } = await render("gpu-operator", "v25.10.1", { [section]: { nodeSelector: { gpu: "yes" } } });
      expect(code).not.toBe(0);
      expect(error).toContain(`at '/${section}': additional properties 'nodeSelector' not allowed`);
    },
  );

  test.each([
    ["gpu-operator", "v25.10.1", { daemonsets: { nodeSelector: {} } }, "at '/daemonsets'"],
    ["gpu-operator", "v26.7.0", { cdi: { default: true } }, "at '/cdi'"],
    ["gpu-operator", "v25.10.1", { nodeSelector: {} }, "additional properties 'nodeSelector' not allowed"],
    ["nvidia-device-plugin", "0.17.4", { devicePlugin: { env: [] } }, "at '/devicePlugin'"],
    ["nvidia-device-plugin", "0.17.4", { gdrcopyEnabled: true }, "additional properties 'gdrcopyEnabled' not allowed"],
  ])("refuses what %s %s does not have: %j", async (chart, version, values, message) => {
    const { code, error } = await render(chart, version, values);
    expect([code !== 0, error]).toEqual([true, expect.stringContaining(message)]);
  });
});
