import * as semver from "semver";
import { charts, type ChartValues, discoveryValues } from "./data/charts";
import { isMapping } from "../mapping";
import { remembering } from "../memory";
import type { FindingText } from "../rules/finding";
import { editDistance } from "../rules/suggest";

/** Names of the charts. */
export type ChartName = "gpu-operator" | "nvidia-device-plugin" | "dra-driver-nvidia-gpu" | "lws";

/**
 * Releases in the tables by which `checkValues` checks the values of a chart version: the version itself, or else the
 * next older and the next newer release. Empty if the text is not a version.
 */
export function releasesToCheckWith(name: ChartName, version: string): ChartValues[] {
  const wantedVersion = semver.parse(version);
  if (!wantedVersion) return [];
  const releasesOfChart = charts.filter((chart) => chart.chart === name);
  const previousRelease = releasesOfChart
    .filter((chart) => semver.lte(chart.version, wantedVersion))
    .at(-1);
  if (previousRelease && semver.eq(previousRelease.version, wantedVersion))
    return [previousRelease];
  const nextRelease = releasesOfChart.find((chart) => semver.gt(chart.version, wantedVersion));
  return [previousRelease, nextRelease].filter((chart) => chart !== undefined);
}

/** A value that the chart would ignore or misread. */
export interface ChartValueFinding {
  path: string;
  /** `unknown` if the chart lacks the value; else the type that it should have. */
  kind: "unknown" | "boolean" | "string" | "number" | "array" | "object";
}

/**
 * Checks values by the releases of `releasesToCheckWith`. If there are two releases, a value is a mistake only if both
 * releases refuse it.
 *
 * A version may be older or newer than all releases in the tables. A value that the nearest release lacks may then be
 * right, so its path is `uncheckable`. But a value that looks misspelt, or that no release has (`hintOf`), is a
 * mistake.
 *
 * @returns the mistakes, the paths that no table can check (`uncheckable`), and the release that was used. If the text
 * is not a version, there are no mistakes and no paths.
 */
export function checkValues(
  name: ChartName,
  version: string,
  values: Record<string, unknown>,
): { findings: ChartValueFinding[]; uncheckable: string[]; checkedWith?: ChartValues } {
  const [nearestRelease, ...otherReleases] = releasesToCheckWith(name, version);
  if (nearestRelease === undefined) return { findings: [], uncheckable: [] };
  const pathsRefusedByOthers = otherReleases.map((otherRelease) =>
    chartValueFindings(otherRelease, values).map(({ path }) => path),
  );
  const candidates = chartValueFindings(nearestRelease, values).filter(({ path }) =>
    pathsRefusedByOthers.every((paths) => paths.includes(path)),
  );
  const isOutsideTables = otherReleases.length === 0 && !semver.eq(nearestRelease.version, version);
  const isUncheckable = ({ path, kind }: ChartValueFinding): boolean =>
    isOutsideTables &&
    kind === "unknown" &&
    hintOf(path) === undefined &&
    nearestPathTo(nearestRelease, path) === undefined;
  return {
    findings: candidates.filter((finding) => !isUncheckable(finding)),
    uncheckable: candidates.filter(isUncheckable).map(({ path }) => path),
    checkedWith: nearestRelease,
  };
}

/** Patterns of values that users expect but that no chart has, each with a remedy. */
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
 * The path that a user probably meant by an unknown path. The chart has this path, and its last key differs from the
 * user's in at most two letters. Keys that differ more have another meaning (`operator.defaultRuntime`,
 * `operator.defaultGPUMode`).
 */
export function nearestPathTo(chart: ChartValues, path: string): string | undefined {
  const parentPath = path.slice(0, path.lastIndexOf(".") + 1);
  const key = path.slice(parentPath.length).toLowerCase();
  const maxDistance = Math.min(2, Math.floor(key.length / 4));
  const keys = pathsNear(chart, path)
    .filter((candidatePath) => candidatePath.startsWith(parentPath))
    .map((known) => known.slice(parentPath.length).split(".")[0]!);
  const [nearest] = [...new Set(keys)]
    .filter((candidate) => Math.abs(key.length - candidate.length) <= maxDistance)
    .map((known) => ({ known, distance: editDistance(key, known.toLowerCase(), maxDistance) }))
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance);
  return nearest && `${parentPath}${nearest.known}`;
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
    const inside = (section: object): ChartValueFinding[] =>
      chartValueFindings(discoveryValues, { ...section }).map(({ path, kind }) => ({
        path: `${key}.${path}`,
        kind,
      }));
    if (key !== "nfd") return inside(value);
    // The plugin's chart reads in this section whether to install the subchart (Chart.yaml, condition); the operator's
    // chart has another section for it.
    const { enabled = null, ...otherKeys } = value;
    const isRight = enabled === null || typeof enabled === "boolean";
    return [
      ...(isRight ? [] : [{ path: "nfd.enabled", kind: "boolean" } as const]),
      ...inside(otherKeys),
    ];
  });
}

/** Candidates for the path that a user meant: those of the chart, or of its subchart. */
function pathsNear(chart: ChartValues, path: string): string[] {
  const subchart = chart.subcharts.find((key) => path.startsWith(`${key}.`));
  return subchart === undefined
    ? Object.keys(chart.paths)
    : Object.keys(discoveryValues.paths).map((subPath) => `${subchart}.${subPath}`);
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
