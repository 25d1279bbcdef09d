import { mkdtempSync } from "node:fs";
import * as path from "node:path";
import { type ChartRepository, serveCharts } from "../../charts/repository";
import { builtTool } from "../built-tool";
import { dir, run, withHelm } from "./render";

withHelm("the lab's chart repositories", () => {
  let charts: ChartRepository;
  beforeAll(async () => {
    charts = await serveCharts({ dir: mkdtempSync(path.join(dir, "served-")), helm: builtTool("helm")! });
  });
  afterAll(() => charts.close());

  const template = (repository: string, chart: string, version: string): ReturnType<typeof run> =>
    run(["template", "it", chart, "--repo", charts.addressOf(repository), "--version", version, "-n", "gpu"]);
  const nvidia = "https://nvidia.github.io/k8s-device-plugin";

  test("Helm takes a chart from them as from the real one's", async () => {
    expect(await template(nvidia, "nvidia-device-plugin", "0.18.2")).toMatchObject({
      code: 0,
      out: expect.stringContaining("nvcr.io/nvidia/k8s-device-plugin:v0.18.2"),
    });
  });

  test("a release that the lab does not have is there once a stack asks for it", async () => {
    expect(await template(nvidia, "nvidia-device-plugin", "0.20.0")).toMatchObject({
      code: 1,
      error: expect.stringMatching(/chart "nvidia-device-plugin" version "0\.20\.0" not found in http/),
    });
    charts.offer("nvidia-device-plugin", "0.20.0");
    expect(await template(nvidia, "nvidia-device-plugin", "0.20.0")).toMatchObject({
      code: 0,
      out: expect.stringContaining("nvcr.io/nvidia/k8s-device-plugin:v0.20.0"),
    });
  });

  test("another repository is none", async () => {
    expect(await template("https://example.org/charts", "nginx", "1.0.0")).toMatchObject({
      code: 1,
      error: expect.stringContaining("is not a valid chart repository or cannot be reached"),
    });
  });
});
