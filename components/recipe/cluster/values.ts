import { gpuProviders, type GpuProviderName } from "../facts/gpu-provider";
import { isMapping, mergeAsHelm } from "../mapping";
import type { ClusterSpec, GpuOperatorSpec } from "../spec/index";
import type { Injection, PodToleration, ReleaseRecipe, UpdateStrategy } from "../types";

/** Values of a chart. */
export type ChartInput = Record<string, unknown>;

/**
 * Merges a user's chart values over the package's values. Mappings are merged by key, and `env` lists by the variable's
 * name. Any other value of the user replaces the package's value, as in Helm.
 */
export const mergeValues = (packageValues: ChartInput, userValues: ChartInput = {}): ChartInput =>
  mergeAsHelm(packageValues, userValues, (key, old, value) =>
    key === "env" ? mergeByName(old, value) : value,
  );

function mergeByName(packageItems: unknown[], userItems: unknown[]): unknown[] {
  const nameOf = (item: unknown): unknown => (isMapping(item) ? item["name"] : undefined);
  const userNames = new Set(userItems.map(nameOf));
  return [...packageItems.filter((item) => !userNames.has(nameOf(item))), ...userItems];
}

/** Value of a variable in an `env` list, as text; undefined if the list lacks the variable. */
export function envOf(list: unknown, name: string): string | undefined {
  const item: unknown = Array.isArray(list)
    ? list.find((entry) => isMapping(entry) && entry["name"] === name)
    : undefined;
  const value = isMapping(item) ? item["value"] : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

/**
 * Inputs of a GPU provider's chart values. `config` is the device plugin's configuration for sharing; undefined if the
 * stack shares no cards.
 */
export interface Ground {
  spec: ClusterSpec;
  injection: Injection;
  tolerations: PodToleration[];
  nodeSelector: Record<string, string>;
  config: string | undefined;
  /** Update strategy of the chart's DaemonSets; undefined for the chart's own. */
  updateStrategy: UpdateStrategy | undefined;
}

/**
 * The release of the GPU provider. Its values are the package's values, with the user's values merged over them. A
 * release that was taken over has only the user's values.
 */
export function releaseOfGpuProvider(
  mode: GpuProviderName,
  providerSpec: GpuOperatorSpec,
  packageValues: ChartInput,
): ReleaseRecipe {
  const { chart, repository } = gpuProviders[mode];
  const { takeOver, namespace = chart, values = {} } = providerSpec;
  const version = providerSpec.version.replace(/^v/, "");
  return {
    name: takeOver ?? chart,
    namespace,
    chart,
    repository: repositoryOf(providerSpec.repository, chart) ?? repository,
    version: mode === "operator" ? `v${version}` : version,
    values: takeOver === undefined ? mergeValues(packageValues, values) : values,
  };
}

/**
 * The chart repository from a stack's field. For an OCI registry, users often write the reference of the chart itself;
 * the function then removes the chart's name.
 */
export function repositoryOf(
  statedRepository: string | undefined,
  chart: string,
): string | undefined {
  const folder = statedRepository?.replace(/(?<!\/)\/+$/, "");
  return folder?.startsWith("oci://") && folder.endsWith(`/${chart}`)
    ? folder.slice(0, -chart.length - 1)
    : folder;
}
