import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import * as path from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { chartFolder, chartVersions, isLabChart, type LabChart } from ".";
import { listen } from "../loopback";
import { chartRepositories, inChartNotation } from "./releases";
import * as semver from "semver";

/** The lab's chart repositories: one for every real repository, whose address is the path. */
export interface ChartRepository {
  /** Address in the lab of a real repository, e.g. `https://nvidia.github.io/k8s-device-plugin`. */
  addressOf(repository: string): string;
  /**
   * Adds a release to the index, so that a stack with a newer one than the lab knows gets the nearest one under its
   * name.
   *
   * @param repository real repository of the chart; an OCI folder is served by an index here. Default: the chart's own.
   */
  offer(chart: string, version: string, repository?: string): void;
  close(): Promise<void>;
}

/**
 * Serves the lab's charts over HTTP as Helm repositories (helm.sh/docs/topics/chart_repository): an index.yaml, and an
 * archive for every release, packed at the first request. Helm also fetches both in a preview.
 */
export async function serveCharts({
  dir,
  helm,
}: {
  dir: string;
  helm: string;
}): Promise<ChartRepository> {
  const offered = new Map<LabChart, string[]>();
  const chartByPath = new Map<string, LabChart>(
    Object.keys(chartRepositories)
      .filter(isLabChart)
      .map((chart) => [pathOf(chartRepositories[chart]), chart]),
  );
  /** By file. Helm fetches the archive at every preview and update. */
  const archives = new Map<string, Promise<Buffer>>();
  const server = createServer((request, response) => {
    contentFor(request).then(
      (body) => send(response, body === undefined ? 404 : 200, body ?? "not found\n"),
      (error: Error) => send(response, 500, `${error.message}\n`),
    );
  });

  async function contentFor({ url = "" }: IncomingMessage): Promise<string | Buffer | undefined> {
    const slash = url.lastIndexOf("/");
    const [chart, file] = [chartByPath.get(url.slice(0, slash)), url.slice(slash + 1)];
    if (chart === undefined) return undefined;
    if (file === "index.yaml") return indexOf(chart);
    const version = releases(chart).find((release) => file === archiveName(chart, release));
    if (version === undefined) return undefined;
    const content = archives.get(file) ?? pack(chart, version);
    archives.set(file, content);
    content.catch(() => archives.delete(file)); // the next request tries again, e.g. after a full disk
    return content;
  }

  const releases = (chart: LabChart): string[] => [
    ...new Set([...chartVersions(chart), ...(offered.get(chart) ?? [])]),
  ];

  const indexOf = (chart: LabChart): string =>
    stringify({
      apiVersion: "v1",
      entries: {
        [chart]: releases(chart).map((version) => ({
          apiVersion: "v2",
          name: chart,
          version,
          appVersion: version,
          urls: [archiveName(chart, version)],
        })),
      },
    });

  async function pack(chart: LabChart, version: string): Promise<Buffer> {
    const folder = await chartFolder(dir, chart, version);
    const args = ["package", folder, "--destination", dir];
    // The user's settings for Helm must not matter here.
    await promisify(execFile)(helm, args, {
      env: { HOME: dir, PATH: process.env["PATH"] },
      timeout: 60_000,
    });
    return readFile(path.join(dir, archiveName(chart, version)));
  }

  const { url, close } = await listen(server);
  return {
    addressOf: (repository) => `${url}${pathOf(repository)}`,
    offer: (chart, version, repository) => {
      if (!isLabChart(chart)) return;
      if (repository !== undefined) chartByPath.set(pathOf(repository), chart);
      const release = semver.parse(version)?.version;
      if (release !== undefined)
        offered.set(chart, [...(offered.get(chart) ?? []), inChartNotation(chart, release)]);
    },
    close,
  };
}

/** Path of a real repository in the lab's: its address without the scheme. */
const pathOf = (repository: string): string =>
  `/${repository.replace(/^[a-z]+:\/\//, "").replace(/\/+$/, "")}`;

const archiveName = (chart: LabChart, version: string): string => `${chart}-${version}.tgz`;

function send(response: ServerResponse, status: number, body: string | Buffer): void {
  response.writeHead(status, { "content-length": Buffer.byteLength(body), connection: "close" });
  response.end(body);
}
