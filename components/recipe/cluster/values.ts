import { gpuProviders, type GpuProviderName } from "../facts/gpu-provider";
import { isMapping, mergeAsHelm } from "../mapping";
import type { ClusterSpec, GpuOperatorSpec } from "../spec/index";
import type { Era, PodToleration, ReleaseRecipe } from "../types";

/** Values of a chart. */
export type ChartInput = Record<string, unknown>;

/**
 * Merges a user's values over the package's: mappings by key, `env` lists by name (so a user's variable keeps the
 * others), and all other values like Helm: the user's value replaces the package's.
 */
export const mergeValues = (ours: ChartInput, theirs: ChartInput = {}): ChartInput =>
  mergeAsHelm(ours, theirs, (key, old, value) => (key === "env" ? mergeByName(old, value) : value));

function mergeByName(ours: unknown[], theirs: unknown[]): unknown[] {
  const nameOf = (item: unknown): unknown => (isMapping(item) ? item["name"] : undefined);
  const taken = new Set(theirs.map(nameOf));
  return [...ours.filter((item) => !taken.has(nameOf(item))), ...theirs];
}

/** A variable of an `env` list as text; undefined if the list lacks it. */
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
 * Inputs of the GPU providers' releases. `config` is the plugin's configuration for sharing; undefined if the stack
 * shares no cards.
 */
export interface Ground {
  spec: ClusterSpec;
  era: Era;
  tolerations: PodToleration[];
  nodeSelector: Record<string, string>;
  config: string | undefined;
}

/**
 * The release of the GPU provider: the package's values with the user's merged over them. A release that was taken over
 * has only the user's.
 */
export function releaseOfGpuProvider(
  mode: GpuProviderName,
  said: GpuOperatorSpec,
  ours: ChartInput,
): ReleaseRecipe {
  const { chart, repository } = gpuProviders[mode];
  const { takeOver, namespace = chart, values = {} } = said;
  const version = said.version.replace(/^v/, "");
  return {
    name: takeOver ?? chart,
    namespace,
    chart,
    repository: repositoryOf(said.repository, chart) ?? repository,
    version: mode === "operator" ? `v${version}` : version,
    values: takeOver === undefined ? mergeValues(ours, values) : values,
  };
}

/**
 * A chart's repository from a stack's field. For OCI users often write the reference of the chart itself; then this is
 * its folder.
 */
export function repositoryOf(said: string | undefined, chart: string): string | undefined {
  const folder = said?.replace(/(?<!\/)\/+$/, "");
  return folder?.startsWith("oci://") && folder.endsWith(`/${chart}`)
    ? folder.slice(0, -chart.length - 1)
    : folder;
}
