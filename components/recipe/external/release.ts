import { posix } from "node:path";
import type { ExternalMissingSpec } from "../spec/index";
import type { ChartName } from "../facts/chart";
import { noValues, indexOf, textAt, valuesAt, type Doc, type Place, type Values } from "./document";
import { isFilledIn } from "./filled-in";
import { asText, defined, mergeAsHelm } from "../mapping";

/** A release of one of NVIDIA's charts that another tool installs, as its files describe it. */
export interface OutsideRelease {
  chart: ChartName;
  /**
   * What describes the release: the files of a tool, a chart that depends on NVIDIA's (`a chart`), or only a values
   * file (`values`).
   */
  by: "Flux" | "Argo CD" | "kustomize" | "helmfile" | "a chart" | "values";
  /** Name of the release; undefined if the files do not name it. */
  name?: string;
  /** Version of the chart, e.g. `v26.3.3`; undefined if the files lack it. */
  version?: string;
  /** Namespace of the release; undefined if the files do not name it. */
  namespace?: string;
  /** Place of its namespace. */
  namespacePlace?: Place;
  /** Values that Helm gets, without the chart's defaults. */
  values: Record<string, unknown>;
  /** Place where the object begins. */
  place: Place;
  /** Place of its version. */
  versionPlace?: Place;
  /** Place of each value, by the value's path, e.g. `driver.enabled`. */
  places: Record<string, Place>;
  /** Objects and files that the release refers to and that are missing, so that the release may have further values. */
  missing: ExternalMissingSpec[];
}

/** Folder of a document's file. */
export const folderOf = ({ place }: Doc): string => posix.dirname(place.file);

/**
 * The object that a document names: the object in the same folder, else the only object of that name. Undefined if
 * several match.
 */
export const namedBy = (doc: Doc, candidates: readonly Doc[]): Doc | undefined =>
  candidates.find((candidate) => folderOf(candidate) === folderOf(doc)) ??
  (candidates.length === 1 ? candidates[0] : undefined);

/** Values at a path of a file that a document names. A missing file is added to `missing`. */
export function valuesOf(
  file: string,
  referrer: Doc,
  docs: Doc[],
  missing: ExternalMissingSpec[],
  path: string[] = [],
): Values {
  const valuesDoc =
    indexOf(docs).ofFile(posix.join(folderOf(referrer), file)) ??
    namedBy(
      referrer,
      docs.filter(({ place }) => file.startsWith("$") && isFileOf(place.file, file)),
    );
  if (valuesDoc === undefined) missing.push({ kind: "values file", name: file });
  return valuesDoc === undefined ? noValues : (valuesAt(valuesDoc, path) ?? noValues);
}

/**
 * Whether an Argo CD Application refers to a file by a path such as `$values/gpu/values.yaml`. This path begins at the
 * root of a repository.
 */
function isFileOf(filePath: string, reference: string): boolean {
  const tail = reference.replace(/^\$[^/]+\//, "");
  return (
    filePath === tail ||
    filePath.endsWith(`/${tail}`) ||
    tail.endsWith(`/${filePath.replace(/^\.\//, "")}`)
  );
}

/** The value that a parameter in Helm's `--set` notation sets. A dot after a backslash is part of a key. */
export function parameterOf(parameter: Record<string, unknown>, place: Place): Values {
  const keys = (textAt(parameter, "name") ?? "")
    .split(/(?<!\\)\./)
    .map((key) => key.replace(/\\\./g, "."));
  const text = asText(parameter["value"]);
  const value: unknown =
    parameter["forceString"] === true
      ? text
      : (({ true: true, false: false, null: null } as Record<string, unknown>)[text] ?? text);
  const [values] = [keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)];
  return { values: values as Record<string, unknown>, places: { [keys.join(".")]: place } };
}

/** Fields of a release before its values are merged. */
export type ReleaseFields = {
  [Key in keyof OutsideRelease]?: OutsideRelease[Key] | undefined;
} & Pick<OutsideRelease, "chart" | "by" | "place" | "missing">;

/** The name; undefined if it contains a placeholder. */
const unlessFilledIn = (name: string | undefined): string | undefined =>
  name === undefined || isFilledIn(name) ? undefined : name;

/** Makes a release and merges its values: a later item of `parts` overrides the earlier ones. */
export function release(
  fields: ReleaseFields,
  parts: Values[],
  versionPlace?: Place,
): OutsideRelease {
  const knownFields = defined({
    ...fields,
    name: unlessFilledIn(fields.name),
    namespace: unlessFilledIn(fields.namespace),
  }) as unknown as OutsideRelease;
  return {
    ...knownFields,
    ...(versionPlace && knownFields.version !== undefined ? { versionPlace } : {}),
    values: parts.reduce<Record<string, unknown>>(
      (merged, { values }) => mergeAsHelm(merged, values),
      {},
    ),
    places: Object.assign({}, ...parts.map(({ places }) => places)) as Record<string, Place>,
  };
}
