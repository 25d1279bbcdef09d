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

/** An external GPU provider, by the stack's fields and the files that these name. */
export interface External {
  kind: ExternalKind;
  /** Who installs it, e.g. `Flux`; undefined where nothing tells. */
  by?: string;
  release: ReleaseRecipe;
  runtimeClassName: string;
  resourceName: string;
  /** File and line of a value, by its path. */
  places: Record<string, string>;
  /** Whether nothing says the namespace, so that it is the chart's usual one. */
  assumesNamespace: boolean;
}

/**
 * The external GPU provider; undefined if the stack has none. Without a kind it counts as an operator, and a check
 * asks for the kind.
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

/** A release that has only external values, without the stack's under them. */
export interface OwnValues {
  kind: ExternalKind;
  /** Field of the stack that has them. */
  field: "external" | ExternalKind;
  /** Undefined where they are not known. */
  values: Record<string, unknown> | undefined;
  /** Whether files that were not given may set more values. Then a value that is missing here may still be set. */
  partly: boolean;
  resourceName: string;
}

/** Whether it names a chart, and holds no values. */
export const isChartSource = ({ kind }: ExternalMissingSpec): boolean =>
  ["OCIRepository", "HelmChart", "chart"].includes(kind);

/** The release that is outside, or that was taken over; undefined where the stack's values are under the user's. */
export function ownValuesOf(spec: ClusterSpec): OwnValues | undefined {
  const outside = externalOf(spec);
  if (outside !== undefined) {
    const { external: { values, read } = {} } = spec;
    const known = (values ?? read?.values) !== undefined;
    const { kind, resourceName, release } = outside;
    const partly = (read?.missing ?? []).some((what) => !isChartSource(what));
    return {
      kind,
      field: "external",
      values: known ? release.values : undefined,
      partly,
      resourceName,
    };
  }
  const kind = gpuProviderFields.find((one) => spec[one]?.takeOver !== undefined);
  if (kind === undefined) return undefined;
  const { values = {} } = spec[kind]!;
  const resourceName = gpuProviderOfField(kind).deviceClass ?? resourceIn(values);
  return { kind, field: kind, values, partly: false, resourceName };
}

const resourceIn = (values: Record<string, unknown>): string =>
  `nvidia.com/gpu${renames(values) ? ".shared" : ""}`;

/**
 * Whether the device plugin's configuration gives shared cards a name of their own (k8s-device-plugin, README,
 * renameByDefault).
 */
const renames = (values: Record<string, unknown>): boolean =>
  /renameByDefault: *true/.test(JSON.stringify(values));

/**
 * A stack as if it installed the external GPU provider itself, so that the same checks apply. Without `external`, the
 * stack as it is.
 */
export function asRelease(spec: ClusterSpec): ClusterSpec {
  const outside = externalOf(spec);
  if (outside === undefined) return spec;
  const { external: _, ...rest } = spec;
  const { version, namespace, values } = outside.release;
  return { ...rest, [outside.kind]: { version, namespace, values } };
}

/** Content of files in the form of `external.read`; `unread` names the doubtful parts. */
export function readExternal(files: readonly OutsideFile[], kind?: ExternalKind): ExternalReadSpec {
  const wanted = kind && gpuProviderOfField(kind).chart;
  const { releases, flaws } = releasesIn(files, wanted);
  const unread = flaws.map(({ file, line, problem }) => `${file}:${line} ${problem}`);
  const names = files.map(({ name }) => name).join(", ");
  const [release, another] = releases.filter(
    ({ chart }) => wanted === undefined || chart === wanted,
  );
  if (release === undefined) {
    const nothing = `nothing in ${names} is read here as the release of one of NVIDIA's charts (a HelmRelease, an Application, a kustomization, a helmfile.yaml, a Chart.yaml or a file of values is)`;
    return { unread: unread.length > 0 ? unread : [nothing] };
  }
  const both =
    another &&
    `${names} install ${release.chart} at line ${release.place.line} and ${another.chart} at line ${another.place.line}`;
  return {
    kind: gpuProviderOfChart(release.chart).field,
    ...defined({ by: release.by === "values" ? undefined : release.by, name: release.name }),
    ...defined({ version: release.version, namespace: release.namespace }),
    values: release.values,
    places: Object.fromEntries(
      Object.entries(release.places).map(([path, { file, line }]) => [path, `${file}:${line}`]),
    ),
    ...(unread.length + (both ? 1 : 0) === 0
      ? {}
      : { unread: [...unread, ...(both ? [both] : [])] }),
    ...(release.missing.length === 0 ? {} : { missing: release.missing }),
  };
}
