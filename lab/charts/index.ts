import { existsSync, readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import * as path from "node:path";
import * as semver from "semver";
import { stringify } from "yaml";
import { charts, type ChartValues } from "../../components/recipe/facts/data/charts";
import { clusterPolicyDefinition } from "./cluster-policy";
import { valuesSchema } from "./schema";

/** What a release of a chart brings. Source: the real chart's values.yaml and Chart.yaml, reduced to their facts. */
interface ChartData {
  chart: string;
  /** Without a `v`. */
  version: string;
  /** Release of node feature discovery that it brings as a subchart. */
  nodeFeatureDiscovery: string;
  /** Default values. */
  values: Record<string, unknown>;
}

/** Where the real charts are. */
export const chartRepositories: Readonly<Record<string, string>> = {
  "gpu-operator": "https://helm.ngc.nvidia.com/nvidia",
  "nvidia-device-plugin": "https://nvidia.github.io/k8s-device-plugin",
};

/** Releases of a chart that the lab has, oldest first, as the chart writes them: `v25.10.1`, but `0.17.4`. */
export function chartVersions(chart: string): string[] {
  return data
    .filter((each) => each.chart === chart)
    .map((each) => each.version)
    .sort(semver.compare)
    .map((version) => written(chart, version));
}

/**
 * Writes a chart as a folder that Helm takes: `dir/<chart>-<version>`. Values and their defaults are the real chart's; a
 * value that it does not have is an error, by the chart's schema. Templates are the lab's own and make those objects of
 * the real chart that something in a lab reads, with the one hook that changes a cluster: node feature discovery's clean-up
 * of the nodes after the release is gone. The others upgrade and remove definitions.
 *
 * @param repo where the stack says that the chart is; must be where the real one is
 * @param version with or without its `v`; undefined or empty: the newest that the lab has
 * @returns the folder
 * @throws when the repository, the chart or the version is not there, with the ones that are
 */
export async function chartFolder(dir: string, repo: string, chart: string, version?: string): Promise<string> {
  const home = chartRepositories[chart];
  if (home === undefined) {
    throw new Error(`chart "${chart}": the lab does not have it; it has ${Object.keys(chartRepositories).join(", ")}`);
  }
  if (repo.replace(/\/+$/, "") !== home) {
    throw new Error(`chart "${chart}": not found in ${repo} repository; it is in ${home}`);
  }
  const known = chartVersions(chart);
  const wanted = version || known.at(-1);
  const found = data.find((each) => each.chart === chart && semver.eq(each.version, semver.parse(wanted) ?? "0.0.0"));
  if (!found) {
    throw new Error(
      `chart "${chart}" version "${wanted}" not found in ${repo} repository; the lab has ${known.join(", ")}`,
    );
  }
  const names = charts.find((each) => each.chart === chart && each.version === found.version);
  if (!names) throw new Error(`chart "${chart}" version "${found.version}": its values are not in the recipe's data`);
  const folder = path.join(dir, `${chart}-${written(chart, found.version)}`);
  if (!existsSync(folder)) await write(folder, found, names);
  return folder;
}

/** Puts the folder in place whole: another call may be reading it, or about to write the same. */
async function write(folder: string, found: ChartData, names: ChartValues): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.`);
  for (const part of ["templates", "crds"]) await mkdir(path.join(draft, part));
  const templates = path.join(__dirname, found.chart);
  await Promise.all([
    ...Object.entries(files(found, names)).map(([file, text]) => writeFile(path.join(draft, file), text)),
    ...readdirSync(templates).map((file) =>
      copyFile(path.join(templates, file), path.join(draft, "templates", file.replace(/\.yaml\.tpl$/, ".yaml"))),
    ),
  ]);
  await rename(draft, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(draft, { recursive: true });
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
}

/** Files of a chart but its templates, by name. */
function files(
  { chart, version, nodeFeatureDiscovery, values }: ChartData,
  names: ChartValues,
): Record<string, string> {
  const description = {
    apiVersion: "v2",
    name: chart,
    version: written(chart, version),
    appVersion: written(chart, version),
    description: `The lab's ${chart}: the real chart's values, the lab's own templates`,
    annotations: { "node-feature-discovery": nodeFeatureDiscovery },
  };
  return {
    "Chart.yaml": yaml11(description),
    "values.yaml": yaml11(values),
    "values.schema.json": JSON.stringify(valuesSchema(names), undefined, 2),
    ...(chart === "gpu-operator" ? { "crds/nvidia.com_clusterpolicies.yaml": yaml11(clusterPolicyDefinition) } : {}),
  };
}

/** Helm reads YAML 1.1, where a plain `off` is a boolean: such strings need quotes. */
const yaml11 = (value: unknown): string => stringify(value, { version: "1.1", aliasDuplicateObjects: false });

const written = (chart: string, version: string): string => (chart === "gpu-operator" ? `v${version}` : version);

const data: readonly ChartData[] = readdirSync(path.join(__dirname, "data"))
  .filter((file) => file.endsWith(".json"))
  .map((file) => JSON.parse(readFileSync(path.join(__dirname, "data", file), "utf8")) as ChartData);
