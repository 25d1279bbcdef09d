import * as semver from "semver";
import type { ChartName } from "../facts/chart";
import { charts } from "../facts/data/charts";
import { remembering } from "../memory";

/** Whether a name or address is that of a maker of other cards, whose charts have like names (`rocm/gpu-operator-charts`). */
export const isOfOthers = (name: string | undefined): boolean =>
  name !== undefined && /(?:^|[^a-z])(?:amd|rocm|intel)(?:[^a-z]|$)/i.test(name);

/** NVIDIA's chart of a name or address, also of a mirror, and as people call their objects. None where a name is another maker's. */
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
    if (/^(?:nvidia-)?dra-driver(?:-nvidia)?-gpu$/.test(last)) return "dra-driver-nvidia-gpu"; // the former is its old name
  }
  return undefined;
}

/** One release; of a range the newest that is known, as Helm takes the newest. Undefined of what a template or Renovate has yet to fill in. */
export function releaseIn(version: string | undefined, chart: ChartName): string | undefined {
  if (version === undefined || /^v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(version)) return version;
  return newestIn(version, chart);
}

const newestIn = remembering((range: string, chart: ChartName): string | undefined => {
  const known = charts.filter((one) => one.chart === chart).map((one) => one.version);
  return semver.maxSatisfying(known, range.replaceAll(",", " ")) ?? undefined;
});

/** First words of the values that any release of a chart has. */
const topsOf = remembering(
  (name: ChartName): ReadonlySet<string> =>
    new Set(
      charts
        .filter((one) => one.chart === name)
        .flatMap(({ paths }) => Object.keys(paths).map((path) => path.split(".", 1)[0]!)),
    ),
);

/** The chart that has most of these keys; undefined where none has, or both have as many. */
export function chartByKeys(keys: string[]): ChartName | undefined {
  // The DRA driver's chart gives out cards with this value alone, and shares other keys with the plugin's.
  if (keys.includes("gpuResourcesEnabledOverride")) return "dra-driver-nvidia-gpu";
  const known = (name: ChartName): number => {
    const tops = topsOf(name);
    return keys.filter((key) => tops.has(key)).length;
  };
  const [operator, plugin] = [known("gpu-operator"), known("nvidia-device-plugin")];
  return operator === plugin
    ? undefined
    : operator > plugin
      ? "gpu-operator"
      : "nvidia-device-plugin";
}
