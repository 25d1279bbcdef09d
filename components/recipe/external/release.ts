import { posix } from "node:path";
import type { ExternalMissingSpec } from "../spec/index";
import type { ChartName } from "../facts/chart";
import { none, shelfOf, textAt, valuesAt, type Doc, type Place, type Values } from "./document";
import { isFilledIn } from "./filled-in";
import { asText, defined, mergeAsHelm } from "../mapping";

/** A release of one of NVIDIA's charts that something else than a stack installs, as its files say it. */
export interface OutsideRelease {
  chart: ChartName;
  /**
   * Who reads the file: besides the tools, a chart that depends on NVIDIA's, or anything that takes a file of values.
   */
  by: "Flux" | "Argo CD" | "kustomize" | "helmfile" | "a chart" | "values";
  /** Name of the release; undefined where the files do not tell it. */
  name?: string;
  /** One release of the chart, e.g. `v26.3.3`; undefined where the files name none. */
  version?: string;
  /** Undefined where the files leave it to something else, such as a kustomization. */
  namespace?: string;
  /** Where its namespace stands. */
  namespacePlace?: Place;
  /** Values that Helm gets, without the chart's own values. */
  values: Record<string, unknown>;
  /** Where the object begins. */
  place: Place;
  /** Where its version stands. */
  versionPlace?: Place;
  /** Where each value stands, by its path, e.g. `driver.enabled`. */
  places: Record<string, Place>;
  /** Sources of its values that are not among the files: its values may depend on them. */
  missing: ExternalMissingSpec[];
}

/** Folder of the file in which a document stands. */
export const folderOf = ({ place }: Doc): string => posix.dirname(place.file);

/** The object that a document names: the one of its folder, else the only one. Undefined if that is unknown. */
export const namedBy = (doc: Doc, candidates: readonly Doc[]): Doc | undefined =>
  candidates.find((one) => folderOf(one) === folderOf(doc)) ??
  (candidates.length === 1 ? candidates[0] : undefined);

/** Values at a path of a file that a document names; a release that was not given is reported. */
export function valuesOf(
  file: string,
  by: Doc,
  docs: Doc[],
  missing: ExternalMissingSpec[],
  path: string[] = [],
): Values {
  const found =
    shelfOf(docs).ofFile(posix.join(folderOf(by), file)) ??
    namedBy(
      by,
      docs.filter(({ place }) => file.startsWith("$") && isFileOf(place.file, file)),
    );
  if (found === undefined) missing.push({ kind: "values file", name: file });
  return found === undefined ? none : (valuesAt(found, path) ?? none);
}

/** Whether a file is `$values/gpu/values.yaml` of an Application, which begins at the root of a repository. */
function isFileOf(given: string, named: string): boolean {
  const tail = named.replace(/^\$[^/]+\//, "");
  return (
    given === tail || given.endsWith(`/${tail}`) || tail.endsWith(`/${given.replace(/^\.\//, "")}`)
  );
}

/** A value in Helm's `--set` notation; a dot after a backslash is part of a key. */
export function parameterOf(one: Record<string, unknown>, place: Place): Values {
  const keys = (textAt(one, "name") ?? "")
    .split(/(?<!\\)\./)
    .map((key) => key.replace(/\\\./g, "."));
  const text = asText(one["value"]);
  const value: unknown =
    one["forceString"] === true
      ? text
      : (({ true: true, false: false, null: null } as Record<string, unknown>)[text] ?? text);
  const [values] = [keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)];
  return { values: values as Record<string, unknown>, places: { [keys.join(".")]: place } };
}

/** Known facts about a release before its values are merged. */
export type Said = { [Key in keyof OutsideRelease]?: OutsideRelease[Key] | undefined } & Pick<
  OutsideRelease,
  "chart" | "by" | "place" | "missing"
>;

/** A name without a gap to fill in. */
const unlessFilledIn = (name: string | undefined): string | undefined =>
  name === undefined || isFilledIn(name) ? undefined : name;

/** A release with the values of its parts; each part overrides those before it. */
export function release(said: Said, parts: Values[], versionPlace?: Place): OutsideRelease {
  const known = defined({
    ...said,
    name: unlessFilledIn(said.name),
    namespace: unlessFilledIn(said.namespace),
  }) as unknown as OutsideRelease;
  return {
    ...known,
    ...(versionPlace && known.version !== undefined ? { versionPlace } : {}),
    values: parts.reduce<Record<string, unknown>>(
      (all, { values }) => mergeAsHelm(all, values),
      {},
    ),
    places: Object.assign({}, ...parts.map(({ places }) => places)) as Record<string, Place>,
  };
}
