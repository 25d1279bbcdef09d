import type { ExternalMissingSpec } from "../spec/index";
import type { ChartName } from "../facts/chart";
import { chartByKeys, chartNamed, isOfOthers, releaseIn } from "./chart";
import {
  documentsOf,
  noValues,
  placeOf,
  textAt,
  valuesAt,
  type Doc,
  type DocumentFinding,
  type OutsideFile,
  type Values,
} from "./document";
import { releasesOfHelmRelease } from "./flux";
import { isKustomization } from "./namespace";
import { releasesOfLists } from "./lists";
import { asText, listAt, listOf, valueAt } from "../mapping";
import { parameterOf, release, valuesOf, type OutsideRelease } from "./release";

/**
 * Reads the releases of NVIDIA's charts from files. The files may be those of Flux (HelmRelease with HelmRepository,
 * OCIRepository or HelmChart), Argo CD (Application, ApplicationSet), kustomize (`helmCharts`) or helmfile. They may
 * also be values files, or a Chart.yaml that depends on NVIDIA's charts. The function skips documents of other kinds.
 * The files may describe several clusters. So a name refers to the object of that name in the same folder, or else to
 * the only object of that name. Pure; never throws.
 *
 * Sources: fluxcd/helm-controller api/v2/helmrelease_types.go and reference_types.go; fluxcd/source-controller api/v1
 * (ocirepository_types.go, helmchart_types.go); argoproj/argo-cd pkg/apis/application/v1alpha1/types.go;
 * kubernetes-sigs/kustomize api/types/helmchartargs.go; helmfile/helmfile pkg/state/state.go (ReleaseSpec); helm
 * v3.19.0, pkg/chart/dependency.go.
 *
 * @param hint the chart of a values file whose keys do not show the chart. Default: none.
 * @returns the releases, and the parts that could not be read.
 */
export function releasesIn(
  files: readonly OutsideFile[],
  hint?: ChartName,
): { releases: OutsideRelease[]; flaws: DocumentFinding[] } {
  const flaws: DocumentFinding[] = [];
  const docs = files.flatMap((file) => documentsOf(file, flaws));
  const releases = docs.flatMap((doc): OutsideRelease[] => {
    const { kind } = doc.root;
    if (kind === "HelmRelease") return releasesOfHelmRelease(doc, docs);
    if (kind === "Application") return releasesOfArgo(doc, ["spec"], docs);
    if (kind === "ApplicationSet") return releasesOfArgo(doc, ["spec", "template", "spec"], docs);
    return releasesOfLists(doc, docs);
  });
  const filesOfReleases = new Set(
    releases.flatMap(({ places }) => Object.values(places).map(({ file }) => file)),
  );
  const valuesFiles = docs.filter((doc) => isOfValues(doc) && !filesOfReleases.has(doc.place.file));
  return {
    releases: [...releases, ...valuesFiles.flatMap((doc) => releasesOfValues(doc, hint))],
    flaws,
  };
}

const isOfValues = (doc: Doc): boolean =>
  doc.root["apiVersion"] === undefined && doc.root["kind"] === undefined && !isKustomization(doc);

function releasesOfArgo(doc: Doc, spec: string[], docs: Doc[]): OutsideRelease[] {
  const { root, place } = doc;
  const sources = listAt(root, ...spec, "sources");
  const paths =
    sources.length > 0
      ? sources.map((_, index) => [...spec, "sources", String(index)])
      : [[...spec, "source"]];
  return paths.flatMap((path) => {
    const chartName = textAt(root, ...path, "chart");
    const chart = isOfOthers(textAt(root, ...path, "repoURL")) ? undefined : chartNamed(chartName);
    if (chart === undefined) return [];
    const helm = [...path, "helm"];
    const missing: ExternalMissingSpec[] = [];
    const fileValues = listOf(valueAt(root, ...helm, "valueFiles")).map((file) =>
      valuesOf(asText(file), doc, docs, missing),
    );
    // `valuesObject` replaces `values` (types.go, ApplicationSourceHelm.ValuesYAML).
    const inline =
      valuesAt(doc, [...helm, "valuesObject"]) ?? valuesAt(doc, [...helm, "values"]) ?? noValues;
    const parameters = listAt(root, ...helm, "parameters").map((parameter, index): Values =>
      parameterOf(parameter, placeOf(doc, [...helm, "parameters", String(index)])),
    );
    const version = releaseIn(textAt(root, ...path, "targetRevision"), chart);
    const name = textAt(root, ...helm, "releaseName") ?? textAt(root, "metadata", "name");
    const namespace = textAt(root, ...spec, "destination", "namespace");
    return [
      release(
        { chart, by: "Argo CD", name, version, namespace, place, missing },
        [...fileValues, inline, ...parameters],
        placeOf(doc, [...path, "targetRevision"]),
      ),
    ];
  });
}

function releasesOfValues(doc: Doc, hint: ChartName | undefined): OutsideRelease[] {
  const chart = hint ?? chartByKeys(Object.keys(doc.root));
  if (chart === undefined) return [];
  return [
    release({ chart, by: "values", place: doc.place, missing: [] }, [
      valuesAt(doc, []) ?? noValues,
    ]),
  ];
}
