import type { ExternalMissingSpec } from "../spec/index";
import type { ChartName } from "../facts/chart";
import { chartByKeys, chartNamed, releaseIn } from "./chart";
import {
  documentsOf,
  none,
  placeOf,
  textAt,
  valuesAt,
  type Doc,
  type Flaw,
  type OutsideFile,
  type Place,
  type Values,
} from "./document";
import { mergeAsHelm } from "./merge";
import { defined, listAt, valueAt } from "../mapping";

/** A release of one of NVIDIA's charts that something else than a stack installs, as its files say it. */
export interface OutsideRelease {
  chart: ChartName;
  /** Who reads the file: Flux, Argo CD, kustomize, a chart that depends on NVIDIA's, or anything that takes a file of values. */
  by: "Flux" | "Argo CD" | "kustomize" | "a chart" | "values";
  /** Name of the release; undefined where the files do not tell it. */
  name?: string;
  /** One release of the chart, e.g. `v26.3.3`; undefined where the files name none. */
  version?: string;
  /** Undefined where the files leave it to something else, such as a kustomization. */
  namespace?: string;
  /** What Helm is given, without the chart's own values. */
  values: Record<string, unknown>;
  /** Where the object begins. */
  place: Place;
  /** Where its version stands. */
  versionPlace?: Place;
  /** Where each value stands, by its path, e.g. `driver.enabled`. */
  places: Record<string, Place>;
  /** What it takes from elsewhere, and the files do not have: its values may hang on it. */
  missing: ExternalMissingSpec[];
}

/** What files say. */
export interface ReadOutside {
  releases: OutsideRelease[];
  /** What could not be read. */
  flaws: Flaw[];
}

/**
 * Reads what installs NVIDIA's charts from the files of Flux (HelmRelease with HelmRepository, OCIRepository or HelmChart), of Argo CD
 * (Application, ApplicationSet), of kustomize (`helmCharts`), of a chart that depends on them, and from files of values. Documents of other kinds are passed over. Pure;
 * never throws.
 *
 * Sources: fluxcd/helm-controller api/v2/helmrelease_types.go and reference_types.go; fluxcd/source-controller api/v1
 * (ocirepository_types.go, helmchart_types.go); argoproj/argo-cd pkg/apis/application/v1alpha1/types.go; kubernetes-sigs/kustomize
 * api/types/helmchartargs.go.
 *
 * @param hint the chart of a file of values that does not tell it by its keys. Default: none.
 */
export function readOutside(files: readonly OutsideFile[], hint?: ChartName): ReadOutside {
  const flaws: Flaw[] = [];
  const docs = files.flatMap((file) => documentsOf(file, flaws));
  const releases = docs.flatMap((doc): OutsideRelease[] => {
    const { kind } = doc.root;
    if (kind === "HelmRelease") return ofHelmRelease(doc, docs);
    if (kind === "Application") return ofArgo(doc, ["spec"], docs);
    if (kind === "ApplicationSet") return ofArgo(doc, ["spec", "template", "spec"], docs);
    if (kind === "Kustomization" || /(?:^|\/)kustomization\.ya?ml$/i.test(doc.place.file))
      return ofKustomize(doc, docs);
    return /(?:^|\/)Chart\.yaml$/.test(doc.place.file) ? ofParentChart(doc, docs) : [];
  });
  const taken = new Set(releases.flatMap(({ places }) => Object.values(places).map(({ file }) => file)));
  const plain = docs.filter(({ root, place }) => isOfValues(root) && !taken.has(place.file));
  return { releases: [...releases, ...plain.flatMap((doc) => ofValues(doc, hint))], flaws };
}

const isOfValues = (root: Record<string, unknown>): boolean =>
  root["apiVersion"] === undefined && root["kind"] === undefined;

/** A HelmRelease; one that names no chart is kustomize's patch of one that does, and stands for both. */
function ofHelmRelease(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const name = textAt(doc.root, "metadata", "name");
  const namesakes = docs.filter(
    ({ root }) => root["kind"] === "HelmRelease" && textAt(root, "metadata", "name") === name,
  );
  const [base] = namesakes.filter((one) => !isPatch(one));
  const own = ofFlux(doc, docs);
  if (!isPatch(doc)) return namesakes.some(isPatch) ? [] : own;
  const under = base && ofFlux(base, docs)[0];
  return own.map((over) =>
    under === undefined
      ? { ...over, missing: [...over.missing, { kind: "HelmRelease", name: name ?? "" }] }
      : {
          ...{ ...under, ...over, missing: [...under.missing, ...over.missing] },
          values: mergeAsHelm(under.values, over.values),
          places: { ...under.places, ...over.places },
        },
  );
}

const isPatch = ({ root }: Doc): boolean =>
  textAt(root, "spec", "chartRef", "name") === undefined &&
  textAt(root, "spec", "chart", "spec", "chart") === undefined;

function ofFlux(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const { root, place } = doc;
  const own = textAt(root, "metadata", "name");
  const byChart = ["spec", "chart", "spec"];
  const refName = textAt(root, "spec", "chartRef", "name");
  const source = docs.find(
    ({ root: other }) =>
      other["kind"] === valueAt(root, "spec", "chartRef", "kind") && textAt(other, "metadata", "name") === refName,
  );
  const chart = chartNamed(
    textAt(root, ...byChart, "chart"),
    textAt(source?.root, "spec", "url"),
    textAt(source?.root, "spec", "chart"),
    refName,
    textAt(root, "spec", "releaseName"),
    own,
  );
  if (chart === undefined) return [];
  const said = [
    { at: doc, path: [...byChart, "version"] },
    ...(source
      ? [
          ["spec", "ref", "tag"],
          ["spec", "ref", "semver"],
          ["spec", "version"],
        ].map((path) => ({ at: source, path }))
      : []),
  ].find(({ at, path }) => textAt(at.root, ...path) !== undefined);
  const version = said && releaseIn(textAt(said.at.root, ...said.path), chart);
  const target = textAt(root, "spec", "targetNamespace");
  const missing: ExternalMissingSpec[] =
    refName === undefined || source
      ? []
      : [{ kind: textAt(root, "spec", "chartRef", "kind") ?? "chart", name: refName }];
  const taken = listAt(root, "spec", "valuesFrom").map((from): Values => {
    const [kind, name] = [textAt(from, "kind") ?? "", textAt(from, "name") ?? ""];
    const holder = docs.find(({ root: other }) => other["kind"] === kind && textAt(other, "metadata", "name") === name);
    const key = textAt(from, "valuesKey") ?? "values.yaml";
    const generated =
      kind === "ConfigMap" && from["targetPath"] === undefined ? generatedFrom(name, key, docs) : undefined;
    if (generated !== undefined) return valuesOf(generated, docs, missing);
    const found =
      holder === undefined || from["targetPath"] !== undefined ? undefined : valuesAt(holder, ["data", key]);
    if (found === undefined) missing.push({ kind, name });
    return found ?? none;
  });
  const name = textAt(root, "spec", "releaseName") ?? (target && own ? `${target}-${own}` : own);
  const namespace = target ?? textAt(root, "metadata", "namespace");
  return [
    release(
      { chart, by: "Flux", name, version, namespace, place, missing },
      [...taken, valuesAt(doc, ["spec", "values"]) ?? none],
      said && placeOf(said.at, said.path),
    ),
  ];
}

/** The file of which kustomize makes a key of a ConfigMap (kustomize, api/types/kvpairsources.go: `values.yaml=./helm/values.yaml`). */
function generatedFrom(name: string, key: string, docs: Doc[]): string | undefined {
  const files = docs
    .flatMap(({ root }) => listAt(root, "configMapGenerator"))
    .filter((one) => one["name"] === name && Array.isArray(one["files"]))
    .flatMap((one) => (one["files"] as unknown[]).map(String));
  return files.map((file) => /^(?:([^=]+)=)?(.*?([^/]+))$/.exec(file)).find((of) => (of?.[1] ?? of?.[3]) === key)?.[2];
}

function ofArgo(doc: Doc, spec: string[], docs: Doc[]): OutsideRelease[] {
  const { root, place } = doc;
  const several = listAt(root, ...spec, "sources");
  const paths =
    several.length > 0 ? several.map((_, index) => [...spec, "sources", String(index)]) : [[...spec, "source"]];
  return paths.flatMap((path) => {
    const named = textAt(root, ...path, "chart");
    const chart = chartNamed(named);
    if (chart === undefined) return [];
    const helm = [...path, "helm"];
    const missing: ExternalMissingSpec[] = [];
    const files = valueAt(root, ...helm, "valueFiles");
    const taken = (Array.isArray(files) ? files : []).map((file) => valuesOf(String(file), docs, missing));
    // `valuesObject` stands in for `values` (types.go, ApplicationSourceHelm.ValuesYAML).
    const inline = valuesAt(doc, [...helm, "valuesObject"]) ?? valuesAt(doc, [...helm, "values"]) ?? none;
    const parameters = listAt(root, ...helm, "parameters").map((one, index): Values =>
      parameterOf(one, placeOf(doc, [...helm, "parameters", String(index)])),
    );
    const version = releaseIn(textAt(root, ...path, "targetRevision"), chart);
    const name = textAt(root, ...helm, "releaseName") ?? textAt(root, "metadata", "name");
    const namespace = textAt(root, ...spec, "destination", "namespace");
    return [
      release(
        { chart, by: "Argo CD", name, version, namespace, place, missing },
        [...taken, inline, ...parameters],
        placeOf(doc, [...path, "targetRevision"]),
      ),
    ];
  });
}

/** Charts that kustomize inflates. Its values go over those of the files, unless `valuesMerge` says otherwise, which nobody was seen to do. */
function ofKustomize(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const { root } = doc;
  return listAt(root, "helmCharts").flatMap((one, index) => {
    const name = textAt(one, "name");
    const chart = chartNamed(name);
    if (chart === undefined) return [];
    const at = ["helmCharts", String(index)];
    const more = one["additionalValuesFiles"];
    const files = [textAt(one, "valuesFile"), ...(Array.isArray(more) ? more.map(String) : [])];
    const missing: ExternalMissingSpec[] = [];
    const taken = files.flatMap((file) => (file === undefined ? [] : valuesOf(file, docs, missing)));
    const namespace = textAt(one, "namespace") ?? textAt(root, "namespace");
    const version = releaseIn(textAt(one, "version"), chart);
    const said = {
      chart,
      by: "kustomize" as const,
      name: textAt(one, "releaseName") ?? name,
      version,
      namespace,
      missing,
    };
    return release(
      { ...said, place: placeOf(doc, at) },
      [...taken, valuesAt(doc, [...at, "valuesInline"]) ?? none],
      placeOf(doc, [...at, "version"]),
    );
  });
}

/** Charts on which one of a person's own depends (helm v3.19.0, pkg/chart/dependency.go): its values hold theirs under name or alias. */
function ofParentChart(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const { file } = doc.place;
  const own = docs.find(({ place }) => place.file === file.replace(/Chart\.yaml$/, "values.yaml"));
  return listAt(doc.root, "dependencies").flatMap((one, index) => {
    const name = textAt(one, "name");
    const chart = chartNamed(name);
    if (name === undefined || chart === undefined) return [];
    const at = ["dependencies", String(index)];
    const missing = own === undefined ? [{ kind: "values file", name: "values.yaml" }] : [];
    return release(
      { chart, by: "a chart", version: releaseIn(textAt(one, "version"), chart), place: placeOf(doc, at), missing },
      [(own && valuesAt(own, [textAt(one, "alias") ?? name])) ?? none],
      placeOf(doc, [...at, "version"]),
    );
  });
}

/** Values of a file that another one names; of one that was not given it is told. */
function valuesOf(file: string, docs: Doc[], missing: ExternalMissingSpec[]): Values {
  const found = docs.find(({ place }) => sameFile(place.file, file));
  if (found === undefined) missing.push({ kind: "values file", name: file });
  return found === undefined ? none : (valuesAt(found, []) ?? none);
}

/** `$values/gpu/values.yaml` of an Application, and the name under which the file was given. */
function sameFile(given: string, named: string): boolean {
  const tail = named.replace(/^\$[^/]+\//, "").replace(/^(?:\.\.?\/)+/, "");
  return given === tail || given.endsWith(`/${tail}`) || tail.endsWith(`/${given.replace(/^\.\//, "")}`);
}

/** A value in Helm's `--set` notation; a dot after a backslash is part of a key. */
function parameterOf(one: Record<string, unknown>, place: Place): Values {
  const keys = (textAt(one, "name") ?? "").split(/(?<!\\)\./).map((key) => key.replace(/\\\./g, "."));
  const text = textAt(one, "value") ?? "";
  const value: unknown =
    one["forceString"] === true
      ? text
      : (({ true: true, false: false, null: null } as Record<string, unknown>)[text] ?? text);
  const [values] = [keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)];
  return { values: values as Record<string, unknown>, places: { [keys.join(".")]: place } };
}

function ofValues(doc: Doc, hint: ChartName | undefined): OutsideRelease[] {
  const chart = hint ?? chartByKeys(Object.keys(doc.root));
  if (chart === undefined) return [];
  return [release({ chart, by: "values", place: doc.place, missing: [] }, [valuesAt(doc, []) ?? none])];
}

type Said = { [Key in keyof OutsideRelease]?: OutsideRelease[Key] | undefined } & Pick<
  OutsideRelease,
  "chart" | "by" | "place" | "missing"
>;

function release(said: Said, parts: Values[], versionPlace?: Place): OutsideRelease {
  const known = defined(said) as unknown as OutsideRelease;
  return {
    ...known,
    ...(versionPlace && known.version !== undefined ? { versionPlace } : {}),
    values: parts.reduce<Record<string, unknown>>((all, { values }) => mergeAsHelm(all, values), {}),
    places: Object.assign({}, ...parts.map(({ places }) => places)) as Record<string, Place>,
  };
}
