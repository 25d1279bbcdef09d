import * as semver from "semver";
import { charts, type ChartValues, discoveryValues } from "./data/charts";
import { isMapping } from "../mapping";
import { remembering } from "../memory";
import type { FindingText } from "../rules/finding";
import { editDistance } from "../rules/suggest";

/** Names of the charts. */
export type ChartName = "gpu-operator" | "nvidia-device-plugin" | "dra-driver-nvidia-gpu" | "lws";

/**
 * Releases of a chart whose tables check a version's values: the version itself, or its two neighbours, the older one
 * first. Empty if the text is not a version.
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

/** A value that has no effect, or a wrong effect. */
export interface ChartValueFinding {
  path: string;
  /** `unknown` if the chart lacks the value; else the type that it should have. */
  kind: "unknown" | "boolean" | "string" | "number" | "array" | "object";
}

/**
 * Checks values by the releases of `judgesOf`. A value that one of two releases accepts may be right, so only a value
 * that both refuse is a mistake. For a version outside of the tables, a value that its only neighbour lacks may also be
 * right. It is a mistake if it is a misspelling, or of a kind that no release has.
 *
 * @returns the mistakes, the paths that no table can check (`open`), and the release that was used. No mistakes if the
 * text is not a version.
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

/** Values that users expect in the charts but that no chart has, each with a remedy. */
const hints: [RegExp, Pick<FindingText, "remedy" | "ofFiles">][] = [
  [
    /\.nodeSelector$|^daemonsets\.(nodeSelector|affinity)$|\.affinity$/,
    {
      remedy:
        "the operator places its pods only by node labels, so label the machines instead (machines.<name>.labels)",
      ofFiles: {
        remedy:
          "the operator places its pods only by node labels, so label the machines instead (machine.nodeLabels)",
      },
    },
  ],
  [
    /\.tolerations$/,
    {
      remedy:
        "write the tolerations to daemonsets.tolerations, which all operands share, or leave them out",
    },
  ],
];

/** Remedy for a value that no release has; undefined if none is known. */
export const hintOf = (path: string): Pick<FindingText, "remedy" | "ofFiles"> | undefined =>
  hints.find(([pattern]) => pattern.test(path))?.[1];

/**
 * The value that a user probably meant by an unknown value: the chart has a value at the same place whose last key
 * differs in one or two letters. Keys that are only similar have another meaning (`operator.defaultRuntime`,
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
    // Helm reads null as "remove the default"; only the path must exist.
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
    // The plugin's chart reads in this section whether to install the subchart (Chart.yaml, condition); the operator's
    // chart has another section for it.
    const { enabled = null, ...others } = value;
    const isRight = enabled === null || typeof enabled === "boolean";
    return [
      ...(isRight ? [] : [{ path: "nfd.enabled", kind: "boolean" } as const]),
      ...inside(others),
    ];
  });
}

/** Candidates for the path that a user meant: those of the chart, or of its subchart. */
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
  // Templates print numbers and texts in the same way.
  if (type === "string" || type === "number")
    return typeof value === "string" || typeof value === "number";
  return typeof value === type;
}
