import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import * as path from "node:path";
import * as semver from "semver";
import { moduleChart, createFolderAtomically, stampedCopy } from "./modules";
import { operatorReleases, writeOperatorChart } from "./operator";
import {
  chartRepositories,
  type LabChart,
  moduleReleases,
  nearestRelease,
  programModule,
  inChartNotation,
} from "./releases";

export { chartRepositories, type LabChart } from "./releases";

/** Releases of a chart that the lab has, oldest first, in the chart's notation: `v25.10.1`, but `0.17.4`. */
export function chartVersions(chart: LabChart): string[] {
  const versions = chart === "gpu-operator" ? operatorReleases() : moduleReleases(chart);
  return [...versions].sort(semver.compare).map((version) => inChartNotation(chart, version));
}

/** Whether the lab has a chart of this name. */
export const isLabChart = (name: string): name is LabChart =>
  Object.hasOwn(chartRepositories, name);

/**
 * Writes a chart as a folder for Helm: `dir/<chart>-<version>`. The charts of the device plugin and of the DRA driver
 * are the real ones, from their Go modules. The operator's chart is emulated, with the real Node Feature Discovery as
 * its subchart. For a release that the lab lacks, it uses the nearest one, under the requested name.
 *
 * @param version with or without its `v`
 * @returns the folder
 * @throws Error if the version is invalid
 */
export async function chartFolder(dir: string, chart: LabChart, version: string): Promise<string> {
  const release = semver.parse(version)?.version;
  if (release === undefined)
    throw new Error(
      `chart "${chart}" version "${version}" is not a release that the lab has; choose one of ${chartVersions(chart).join(", ")}`,
    );
  const folder = path.join(dir, `${chart}-${inChartNotation(chart, release)}`);
  if (existsSync(folder)) return folder;
  await mkdir(dir, { recursive: true });
  await createFolderAtomically(folder, async (draft) => {
    if (chart === "gpu-operator") return writeOperatorChart(draft, release);
    return stampedCopy(
      await moduleChart(programModule(chart, nearestRelease(moduleReleases(chart), release))),
      draft,
      release,
      release,
    );
  });
  return folder;
}
