import type {
  ClusterSpec,
  ExternalKind,
  ExternalMissingSpec,
  ExternalReadSpec,
} from "../spec/index";
import { capabilitiesOf } from "../facts/talos-release";
import { defined, mergeAsHelm } from "../mapping";
import { gpuProviderFields, gpuProviderOfChart, gpuProviderOfField } from "../facts/gpu-provider";
import type { ReleaseRecipe } from "../types";
import { releasesIn } from "./read";
import type { OutsideFile } from "./document";

/** An external GPU provider, described by the stack's fields and by the files that they name. */
export interface External {
  kind: ExternalKind;
  /** Tool that installs the GPU provider, e.g. `Flux`; undefined if it is unknown. */
  by?: string;
  release: ReleaseRecipe;
  runtimeClassName: string;
  resourceName: string;
  /** File and line of each value, by the value's path. */
  places: Record<string, string>;
  /** Whether neither the stack nor the files name the namespace, so that the package assumes the chart's usual one. */
  assumesNamespace: boolean;
}

/**
 * The external GPU provider; undefined if the stack has none. Without a `kind` it counts as the GPU Operator, and a
 * check reports the missing `kind`.
 */
export function externalOf({
  external,
  talosVersion,
}: Pick<ClusterSpec, "external" | "talosVersion">): External | undefined {
  if (external === undefined) return undefined;
  const { read = {} } = external;
  const kind = external.kind ?? read.kind ?? "gpuOperator";
  const { chart, deviceClass } = gpuProviderOfField(kind);
  const values = mergeAsHelm(read.values ?? {}, external.values ?? {});
  return {
    kind,
    ...(read.by === undefined ? {} : { by: read.by }),
    release: {
      name: read.name ?? chart,
      namespace: external.namespace ?? read.namespace ?? chart,
      chart,
      repository: "",
      version: external.version ?? read.version ?? "",
      values,
    },
    runtimeClassName:
      external.runtimeClassName ??
      (deviceClass === undefined && capabilitiesOf(talosVersion).toolkit === "extension"
        ? "nvidia"
        : ""),
    resourceName: external.resourceName ?? deviceClass ?? resourceIn(values),
    places: read.places ?? {},
    assumesNamespace: external.namespace === undefined && read.namespace === undefined,
  };
}

/** The values of a release to which the package adds none of its own values. */
export interface OwnValues {
  kind: ExternalKind;
  /** Field of the stack with these values. */
  field: "external" | ExternalKind;
  /** The values; undefined if they are unknown. */
  values: Record<string, unknown> | undefined;
  /** Whether a file is missing that may set more values. So a value that `values` lacks may still be set. */
  partly: boolean;
  resourceName: string;
}

/** Whether a missing object names only the chart and its release, and contains no values. */
export const isChartSource = ({ kind }: ExternalMissingSpec): boolean =>
  ["OCIRepository", "HelmChart", "chart"].includes(kind);

/**
 * The values of an external release, or of a release that the stack takes over. Undefined for a release of the stack,
 * which also has the package's values.
 */
export function ownValuesOf(spec: ClusterSpec): OwnValues | undefined {
  const externalProvider = externalOf(spec);
  if (externalProvider !== undefined) {
    const { external: { values, read } = {} } = spec;
    const hasValues = (values ?? read?.values) !== undefined;
    const { kind, resourceName, release } = externalProvider;
    const partly = (read?.missing ?? []).some((missingObject) => !isChartSource(missingObject));
    return {
      kind,
      field: "external",
      values: hasValues ? release.values : undefined,
      partly,
      resourceName,
    };
  }
  const kind = gpuProviderFields.find((field) => spec[field]?.takeOver !== undefined);
  if (kind === undefined) return undefined;
  const { values = {} } = spec[kind]!;
  const resourceName = gpuProviderOfField(kind).deviceClass ?? resourceIn(values);
  return { kind, field: kind, values, partly: false, resourceName };
}

const resourceIn = (values: Record<string, unknown>): string =>
  `nvidia.com/gpu${renames(values) ? ".shared" : ""}`;

/**
 * Whether the device plugin's configuration renames the resource of shared cards to `nvidia.com/gpu.shared`
 * (k8s-device-plugin, README, renameByDefault).
 */
const renames = (values: Record<string, unknown>): boolean =>
  /renameByDefault: *true/.test(JSON.stringify(values));

/**
 * A copy of the stack that installs the external GPU provider itself, so that the same checks apply to the provider. A
 * stack without `external` is returned unchanged.
 */
export function asRelease(spec: ClusterSpec): ClusterSpec {
  const outside = externalOf(spec);
  if (outside === undefined) return spec;
  const { external: _, ...rest } = spec;
  const { version, namespace, values } = outside.release;
  return { ...rest, [outside.kind]: { version, namespace, values } };
}

/**
 * Reads files, and returns what they say about the GPU provider in the form of `external.read`. `unread` names what
 * could not be read.
 */
export function readExternal(files: readonly OutsideFile[], kind?: ExternalKind): ExternalReadSpec {
  const wantedChart = kind && gpuProviderOfField(kind).chart;
  const { releases, flaws } = releasesIn(files, wantedChart);
  const unread = flaws.map(({ file, line, problem }) => `${file}:${line} ${problem}`);
  const names = files.map(({ name }) => name).join(", ");
  const [release, otherRelease] = releases.filter(
    ({ chart: releaseChart }) => wantedChart === undefined || releaseChart === wantedChart,
  );
  if (release === undefined) {
    const noReleaseText = `the package finds no release of one of NVIDIA's charts in ${names} (it reads a HelmRelease, an Application, a kustomization, a helmfile.yaml, a Chart.yaml or a file of values)`;
    return { unread: unread.length > 0 ? unread : [noReleaseText] };
  }
  const twoReleasesText =
    otherRelease &&
    `the package finds two of NVIDIA's charts in ${names}: ${release.chart} (line ${release.place.line}) and ${otherRelease.chart} (line ${otherRelease.place.line})`;
  return {
    kind: gpuProviderOfChart(release.chart).field,
    ...defined({ by: release.by === "values" ? undefined : release.by, name: release.name }),
    ...defined({ version: release.version, namespace: release.namespace }),
    values: release.values,
    places: Object.fromEntries(
      Object.entries(release.places).map(([path, { file, line }]) => [path, `${file}:${line}`]),
    ),
    ...(unread.length + (twoReleasesText ? 1 : 0) === 0
      ? {}
      : { unread: [...unread, ...(twoReleasesText ? [twoReleasesText] : [])] }),
    ...(release.missing.length === 0 ? {} : { missing: release.missing }),
  };
}
