import * as semver from "semver";
import { charts, type ChartValues, discoveryValues } from "./data/charts";
import { isMapping } from "../mapping";

/** Names of the charts. */
export type ChartName = "gpu-operator" | "nvidia-device-plugin";

/**
 * Values of a chart's release. A release that is not in the tables takes the newest one before it, else the oldest one.
 * Undefined when the version is no version.
 */
export function findChart(name: ChartName, version: string): ChartValues | undefined {
  const wanted = semver.parse(version);
  if (!wanted) return undefined;
  const known = charts.filter((chart) => chart.chart === name);
  return known.filter((chart) => semver.lte(chart.version, wanted)).at(-1) ?? known[0];
}

/** Releases of a chart that judge a version's values: the one of the table, or its neighbours. */
export function judgesOf(name: ChartName, version: string): ChartValues[] {
  const wanted = semver.parse(version);
  if (!wanted) return [];
  const known = charts.filter((chart) => chart.chart === name);
  const before = known.filter((chart) => semver.lte(chart.version, wanted)).at(-1);
  if (before && semver.eq(before.version, wanted)) return [before];
  const after = known.find((chart) => semver.gt(chart.version, wanted));
  return [before, after].filter((chart) => chart !== undefined);
}

/** Why a value has no effect, or the wrong one. */
export interface ValueComplaint {
  path: string;
  /** `unknown`: the chart has no such value; else the type it should have. */
  kind: "unknown" | "boolean" | "string" | "number" | "array" | "object";
}

/** Values that a chart would ignore or misread, e.g. `devicePlugin.nodeSelector`. */
export function valueComplaints(chart: ChartValues, values: Record<string, unknown>): ValueComplaint[] {
  const prefixes = prefixesOf(chart);
  const complaints: ValueComplaint[] = [];
  const visit = (value: unknown, path: string): void => {
    const type = chart.paths[path];
    if (value === null) {
      // Helm takes null as "remove the default"; it only needs the path to be there.
      if (type === undefined && !prefixes.has(path)) complaints.push({ path, kind: "unknown" });
      return;
    }
    if (type === "any") return;
    if (type !== undefined) {
      if (!isOfType(value, type)) complaints.push({ path, kind: type as ValueComplaint["kind"] });
      return;
    }
    if (!prefixes.has(path)) {
      complaints.push({ path, kind: "unknown" });
      return;
    }
    if (isMapping(value)) for (const [key, child] of Object.entries(value)) visit(child, `${path}.${key}`);
    else complaints.push({ path, kind: "object" });
  };
  for (const [key, value] of Object.entries(values)) {
    if (key === "global") continue;
    if (!chart.subcharts.includes(key)) visit(value, key);
    else if (isMapping(value)) {
      // Whether it is brought: the plugin's chart asks here (Chart.yaml, condition), the operator's in a section of its own.
      const { enabled, ...others } = value;
      const inner = key === "nfd" ? others : value;
      if (key === "nfd" && enabled !== undefined && enabled !== null && typeof enabled !== "boolean")
        complaints.push({ path: "nfd.enabled", kind: "boolean" });
      for (const { path, kind } of valueComplaints(discoveryValues, inner))
        complaints.push({ path: `${key}.${path}`, kind });
    } else if (value !== null) complaints.push({ path: key, kind: "object" });
  }
  return complaints;
}

/** Paths among which one was probably meant: the chart's own, or those of the chart that it brings. */
export function pathsNear(chart: ChartValues, path: string): string[] {
  const sub = chart.subcharts.find((key) => path.startsWith(`${key}.`));
  return sub === undefined
    ? Object.keys(chart.paths)
    : Object.keys(discoveryValues.paths).map((below) => `${sub}.${below}`);
}

const prefixCache = new WeakMap<ChartValues, Set<string>>();

function prefixesOf(chart: ChartValues): Set<string> {
  let prefixes = prefixCache.get(chart);
  if (!prefixes) {
    prefixes = new Set(
      Object.keys(chart.paths).flatMap((path) => {
        const parts = path.split(".");
        return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
      }),
    );
    prefixCache.set(chart, prefixes);
  }
  return prefixes;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isMapping(value);
  // Templates print numbers and strings alike.
  if (type === "string" || type === "number") return typeof value === "string" || typeof value === "number";
  return typeof value === type;
}
