import * as semver from "semver";
import { charts, type ChartValues, discoveryValues } from "./data/charts";
import { isMapping } from "../mapping";
import { remembering } from "../memory";
import { editDistance } from "../rules/suggest";

/** Names of the charts. */
export type ChartName = "gpu-operator" | "nvidia-device-plugin" | "dra-driver-nvidia-gpu" | "lws";

/**
 * Releases of a chart by which a version's values are checked: the table's own, or its neighbours, the older one
 * first. Empty if the version is no version.
 */
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
export interface ChartValueFinding {
  path: string;
  /** `unknown`: the chart has no such value; else the type it should have. */
  kind: "unknown" | "boolean" | "string" | "number" | "array" | "object";
}

/**
 * Judges values by the releases of `judgesOf`. A value that one of the two accepts may be right, so only what both
 * refuse is a finding. Beyond the first or the last, a value that this one lacks may be right as well. It is wrong if
 * it is a misspelling, or of a kind that no release has.
 *
 * @returns the mistakes, `open` paths that no table can check, and the release that was used; none if the version is
 * no version.
 */
export function judgeValues(
  name: ChartName,
  version: string,
  values: Record<string, unknown>,
): { findings: ChartValueFinding[]; open: string[]; judge?: ChartValues } {
  const [judge, ...others] = judgesOf(name, version);
  if (judge === undefined) return { findings: [], open: [] };
  const refusedToo = others.map((other) =>
    chartValueFindings(other, values).map(({ path }) => path),
  );
  const complaints = chartValueFindings(judge, values).filter(({ path }) =>
    refusedToo.every((paths) => paths.includes(path)),
  );
  const isBeyond = others.length === 0 && !semver.eq(judge.version, version);
  const isOpen = ({ path, kind }: ChartValueFinding): boolean =>
    isBeyond &&
    kind === "unknown" &&
    hintOf(path) === undefined &&
    meantBy(judge, path) === undefined;
  return {
    findings: complaints.filter((complaint) => !isOpen(complaint)),
    open: complaints.filter(isOpen).map(({ path }) => path),
    judge,
  };
}

/** Values that people expect of the charts, and that none has. */
const hints: [RegExp, string][] = [
  [
    /\.nodeSelector$|^daemonsets\.(nodeSelector|affinity)$|\.affinity$/,
    "the operator places its pods by node labels alone: label the machines instead (machines.<name>.labels)",
  ],
  [/\.tolerations$/, "all operands share daemonsets.tolerations: write it there, or leave it out"],
];

/** Remedy for a value that no release has; undefined if none is known. */
export const hintOf = (path: string): string | undefined =>
  hints.find(([pattern]) => pattern.test(path))?.[1];

/**
 * The value that was meant by one that a chart does not have: its last key stands in the same place there, with a
 * slip of one or two letters. A key that is only alike means something else (`operator.defaultRuntime`,
 * `operator.defaultGPUMode`).
 */
export function meantBy(chart: ChartValues, path: string): string | undefined {
  const above = path.slice(0, path.lastIndexOf(".") + 1);
  const key = path.slice(above.length).toLowerCase();
  const most = Math.min(2, Math.floor(key.length / 4));
  const keys = pathsNear(chart, path)
    .filter((known) => known.startsWith(above))
    .map((known) => known.slice(above.length).split(".")[0]!);
  const [nearest] = [...new Set(keys)]
    .filter((known) => Math.abs(key.length - known.length) <= most)
    .map((known) => ({ known, distance: editDistance(key, known.toLowerCase(), most) }))
    .filter(({ distance }) => distance <= most)
    .sort((one, other) => one.distance - other.distance);
  return nearest && `${above}${nearest.known}`;
}

/** Values that a chart would ignore or misread, e.g. `devicePlugin.nodeSelector`. */
export function chartValueFindings(
  chart: ChartValues,
  values: Record<string, unknown>,
): ChartValueFinding[] {
  const prefixes = prefixesOf(chart);
  const visit = (value: unknown, path: string): ChartValueFinding[] => {
    const type = Object.hasOwn(chart.paths, path) ? chart.paths[path] : undefined; // `constructor` is no value
    if (type === undefined && !prefixes.has(path)) return [{ path, kind: "unknown" }];
    // Helm takes null as "remove the default"; it only needs the path to exist.
    if (value === null || type === "any") return [];
    if (type !== undefined)
      return isOfType(value, type) ? [] : [{ path, kind: type as ChartValueFinding["kind"] }];
    if (!isMapping(value)) return [{ path, kind: "object" }];
    return Object.entries(value).flatMap(([key, child]) => visit(child, `${path}.${key}`));
  };
  return Object.entries(values).flatMap(([key, value]): ChartValueFinding[] => {
    if (key === "global") return [];
    if (!chart.subcharts.includes(key)) return visit(value, key);
    if (!isMapping(value)) return value === null ? [] : [{ path: key, kind: "object" }];
    const inside = (of: object): ChartValueFinding[] =>
      chartValueFindings(discoveryValues, { ...of }).map(({ path, kind }) => ({
        path: `${key}.${path}`,
        kind,
      }));
    if (key !== "nfd") return inside(value);
    // Whether it is brought: the plugin's chart asks here (Chart.yaml, condition), the operator's in a section of its
    // own.
    const { enabled = null, ...others } = value;
    const isRight = enabled === null || typeof enabled === "boolean";
    return [
      ...(isRight ? [] : [{ path: "nfd.enabled", kind: "boolean" } as const]),
      ...inside(others),
    ];
  });
}

/** Paths among which one was probably meant: the chart's own, or those of the chart that it brings. */
function pathsNear(chart: ChartValues, path: string): string[] {
  const sub = chart.subcharts.find((key) => path.startsWith(`${key}.`));
  return sub === undefined
    ? Object.keys(chart.paths)
    : Object.keys(discoveryValues.paths).map((below) => `${sub}.${below}`);
}

/** Keys that have values below them, e.g. `devicePlugin`. */
const prefixesOf = remembering(
  ({ paths }: ChartValues) =>
    new Set(
      Object.keys(paths).flatMap((path) => {
        const parts = path.split(".");
        return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
      }),
    ),
  ({ chart, version }) => `${chart} ${version}`,
);

function isOfType(value: unknown, type: string): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isMapping(value);
  // Templates print numbers and strings alike.
  if (type === "string" || type === "number")
    return typeof value === "string" || typeof value === "number";
  return typeof value === type;
}
