import { execFile } from "node:child_process";
import { mkdtemp, symlink } from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import * as semver from "semver";
import { stringify } from "yaml";
import { chartFolder, chartVersions, isLabChart, type LabChart } from ".";
import { chartRepositories, inChartNotation } from "./releases";

/** The charts in the lab's repositories, and their releases. */
export class ChartContents {
  private readonly offered = new Map<LabChart, string[]>();
  private readonly chartByPath = new Map<string, LabChart>(
    Object.keys(chartRepositories)
      .filter(isLabChart)
      .map((chart) => [pathOf(chartRepositories[chart]), chart]),
  );
  /** By file. Helm fetches the archive at every preview and update. */
  private readonly archives = new Map<string, Promise<Buffer>>();

  /** @param dir folder for the charts */
  constructor(private readonly dir: string) {}

  /** Adds a release, and the repository from which a stack gets it. Default: the chart's own repository. */
  offer(chart: string, version: string, repository?: string): void {
    if (!isLabChart(chart)) return;
    if (repository !== undefined) this.chartByPath.set(pathOf(repository), chart);
    const release = semver.parse(version)?.version;
    if (release !== undefined)
      this.offered.set(chart, [
        ...(this.offered.get(chart) ?? []),
        inChartNotation(chart, release),
      ]);
  }

  /** The chart in the repository at this path (see `pathOf`); undefined if the lab has no such repository. */
  chartAt(repositoryPath: string): LabChart | undefined {
    return this.chartByPath.get(repositoryPath);
  }

  /** Whether a repository is at this host, `HOST` or `HOST:PORT`. */
  hasHost(host: string): boolean {
    const prefix = `/${host.replace(/:443$/, "")}/`;
    return [...this.chartByPath.keys()].some((repositoryPath) =>
      `${repositoryPath}/`.startsWith(prefix),
    );
  }

  releasesOf(chart: LabChart): string[] {
    return [...new Set([...chartVersions(chart), ...(this.offered.get(chart) ?? [])])];
  }

  /** Text of the `index.yaml` of a chart's repository (helm.sh/docs/topics/chart_repository). */
  indexOf(chart: LabChart): string {
    return stringify({
      apiVersion: "v1",
      entries: {
        [chart]: this.releasesOf(chart).map((version) => ({
          ...metadataOf(chart, version),
          urls: [archiveName(chart, version)],
        })),
      },
    });
  }

  /** The archive of a release, packed at the first request. */
  archiveOf(chart: LabChart, version: string): Promise<Buffer> {
    const file = archiveName(chart, version);
    const content = this.archives.get(file) ?? this.pack(chart, version);
    this.archives.set(file, content);
    content.catch(() => this.archives.delete(file)); // the next request tries again, e.g. after a full disk
    return content;
  }

  private async pack(chart: LabChart, version: string): Promise<Buffer> {
    const folder = await chartFolder(this.dir, chart, version);
    // Helm wants the chart in a folder of its name, whatever the folder on this computer is called.
    const staging = await mkdtemp(path.join(this.dir, "packed-"));
    await symlink(folder, path.join(staging, chart));
    const args = ["-chzf", "-", "-C", staging, chart];
    const { stdout } = await promisify(execFile)("tar", args, {
      encoding: "buffer",
      maxBuffer: 64 << 20,
      timeout: 60_000,
    });
    return stdout;
  }
}

/** Path of a real repository in the lab's: its address without the scheme. */
export const pathOf = (repository: string): string =>
  `/${repository.replace(/^[a-z]+:\/\//, "").replace(/\/+$/, "")}`;

/** Name of a release's archive, as Helm gives it. */
export const archiveName = (chart: LabChart, version: string): string => `${chart}-${version}.tgz`;

/** The part of a chart's metadata (Chart.yaml) that Helm needs to choose a release. */
export const metadataOf = (chart: LabChart, version: string): Record<string, string> => ({
  apiVersion: "v2",
  name: chart,
  version,
  appVersion: version,
});
