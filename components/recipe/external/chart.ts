import * as semver from "semver";
import type { ChartName } from "../facts/chart";
import { charts } from "../facts/data/charts";
import { remembering } from "../memory";

/**
 * Whether a name or address belongs to another vendor of cards, whose charts have similar names
 * (`rocm/gpu-operator-charts`).
 */
export const isOfOthers = (name: string | undefined): boolean =>
  name !== undefined && /(?:^|[^a-z])(?:amd|rocm|intel)(?:[^a-z]|$)/i.test(name);

/**
 * NVIDIA's chart according to names or addresses, e.g. those of a chart, a mirror or a user's object. The first name or
 * address that matches a chart counts. Undefined if none matches, or if one of them belongs to another vendor.
 */
export function chartNamed(...names: (string | undefined)[]): ChartName | undefined {
  if (names.some(isOfOthers)) return undefined;
  for (const name of names) {
    const last =
      name
        ?.replace(/(?<!\/)\/+$/, "")
        .split("/")
        .at(-1) ?? "";
    if (/gpu-operator/.test(last)) return "gpu-operator";
    if (/nvidia-device-plugin|k8s-device-plugin/.test(last)) return "nvidia-device-plugin";
    if (/^(?:nvidia-)?dra-driver(?:-nvidia)?-gpu$/.test(last)) return "dra-driver-nvidia-gpu"; // nvidia-dra-driver-gpu is the old name of the DRA driver's chart.
  }
  return undefined;
}

/**
 * The chart's release according to a version text. For a version range, it is the newest matching release in the
 * package's tables, because Helm installs the newest. Undefined for any other text, e.g. a text with a placeholder.
 */
export function releaseIn(version: string | undefined, chart: ChartName): string | undefined {
  if (version === undefined || /^v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(version)) return version;
  return newestIn(version, chart);
}

const newestIn = remembering((range: string, chart: ChartName): string | undefined => {
  const versions = charts
    .filter((candidate) => candidate.chart === chart)
    .map((candidate) => candidate.version);
  return semver.maxSatisfying(versions, range.replaceAll(",", " ")) ?? undefined;
});

/** Top-level keys of the chart's values in all known releases. */
const topLevelKeys = remembering(
  (name: ChartName): ReadonlySet<string> =>
    new Set(
      charts
        .filter((candidate) => candidate.chart === name)
        .flatMap(({ paths }) => Object.keys(paths).map((path) => path.split(".", 1)[0]!)),
    ),
);

/** The chart whose values have the most of these top-level keys; undefined if two charts have equally many. */
export function chartByKeys(keys: string[]): ChartName | undefined {
  // Only the DRA driver's chart has this value, which it needs to offer cards; its other keys are also those of the
  // plugin's chart.
  if (keys.includes("gpuResourcesEnabledOverride")) return "dra-driver-nvidia-gpu";
  const countOfKnownKeys = (name: ChartName): number => {
    const knownKeys = topLevelKeys(name);
    return keys.filter((key) => knownKeys.has(key)).length;
  };
  const [operatorKeys, pluginKeys] = [
    countOfKnownKeys("gpu-operator"),
    countOfKnownKeys("nvidia-device-plugin"),
  ];
  return operatorKeys === pluginKeys
    ? undefined
    : operatorKeys > pluginKeys
      ? "gpu-operator"
      : "nvidia-device-plugin";
}
