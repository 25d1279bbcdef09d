import type { ExternalMissingSpec } from "../spec/index";
import { chartNamed, isOfOthers, releaseIn } from "./chart";
import { none, placeOf, shelfOf, textAt, valuesAt, type Doc, type Values } from "./document";
import { listAt, mergeAsHelm, valueAt } from "../mapping";
import { filesIn, isKustomization, namespaceOf, parts } from "./namespace";
import { folderOf, namedBy, release, valuesOf, type OutsideRelease } from "./release";

/** Reads a HelmRelease. A HelmRelease without a chart is a kustomize patch; the result is then the patched release. */
export function ofHelmRelease(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const own = ofFlux(doc, docs);
  if (own.length === 0) return [];
  const name = textAt(doc.root, "metadata", "name");
  const namesakes = shelfOf(docs).named("HelmRelease", name);
  const baseOf = (patch: Doc): Doc | undefined =>
    patchedBy(
      patch,
      namesakes.filter((one) => !isPatch(one)),
      docs,
    );
  if (!isPatch(doc)) return namesakes.some((one) => isPatch(one) && baseOf(one) === doc) ? [] : own;
  const base = baseOf(doc);
  const under = base && ofFlux(base, docs)[0];
  return own.map((over) =>
    under === undefined
      ? { ...over, missing: [...over.missing, { kind: "HelmRelease", name: name ?? "" }] }
      : {
          ...under,
          ...over,
          missing: [...under.missing, ...over.missing],
          values: mergeAsHelm(under.values, over.values),
          places: { ...under.places, ...over.places },
        },
  );
}

const isPatch = ({ root }: Doc): boolean =>
  textAt(root, "spec", "chartRef", "name") === undefined &&
  textAt(root, "spec", "chart", "spec", "chart") === undefined;

/**
 * The release that a patch changes: one in the kustomization of the patch. If no kustomization has the patch, the only
 * release.
 */
function patchedBy(patch: Doc, bases: Doc[], docs: Doc[]): Doc | undefined {
  const kustomizations = docs.filter(isKustomization);
  const having = kustomizations.filter((one) =>
    filesIn(one, ["patches", "patchesStrategicMerge"]).includes(patch.place.file),
  );
  const taken = new Set<string>();
  const take = (file: string): void => {
    if (taken.has(file)) return;
    taken.add(file);
    for (const one of kustomizations.filter((each) => folderOf(each) === file))
      filesIn(one, parts).forEach(take);
  };
  for (const one of having) filesIn(one, parts).forEach(take);
  return namedBy(
    patch,
    having.length === 0 ? bases : bases.filter(({ place }) => taken.has(place.file)),
  );
}

function ofFlux(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const { root, place } = doc;
  const own = textAt(root, "metadata", "name");
  const byChart = ["spec", "chart", "spec"];
  const refName = textAt(root, "spec", "chartRef", "name");
  const objectNamed = (kind: unknown, name: string | undefined): Doc | undefined =>
    namedBy(doc, shelfOf(docs).named(kind, name));
  const source = objectNamed(valueAt(root, "spec", "chartRef", "kind"), refName);
  const chart = chartNamed(
    textAt(root, ...byChart, "chart"),
    textAt(source?.root, "spec", "url"),
    textAt(source?.root, "spec", "chart"),
    refName,
    textAt(root, "spec", "releaseName"),
    own,
  );
  if (chart === undefined || isOfOthers(textAt(root, ...byChart, "sourceRef", "name"))) return [];
  const said = [
    { at: doc, path: [...byChart, "version"] },
    ...["spec.ref.tag", "spec.ref.semver", "spec.version"].flatMap((path) =>
      source ? [{ at: source, path: path.split(".") }] : [],
    ),
  ].find(({ at, path }) => textAt(at.root, ...path) !== undefined);
  const version = said && releaseIn(textAt(said.at.root, ...said.path), chart);
  const target = textAt(root, "spec", "targetNamespace");
  const missing: ExternalMissingSpec[] =
    refName === undefined || source
      ? []
      : [{ kind: textAt(root, "spec", "chartRef", "kind") ?? "chart", name: refName }];
  const taken = listAt(root, "spec", "valuesFrom").map((from): Values => {
    const [kind, name] = [textAt(from, "kind") ?? "", textAt(from, "name") ?? ""];
    const holder = objectNamed(kind, name);
    const key = textAt(from, "valuesKey") ?? "values.yaml";
    const generated =
      kind === "ConfigMap" && from["targetPath"] === undefined
        ? generatedFrom(doc, name, key, docs)
        : undefined;
    if (generated !== undefined) return valuesOf(generated.file, generated.by, docs, missing);
    const found =
      holder === undefined || from["targetPath"] !== undefined
        ? undefined
        : valuesAt(holder, ["data", key]);
    if (found === undefined) missing.push({ kind, name });
    return found ?? none;
  });
  const name = textAt(root, "spec", "releaseName") ?? (target && own ? `${target}-${own}` : own);
  const where = target === undefined ? namespaceOf(doc, docs) : { name: target, place };
  return [
    release(
      {
        chart,
        by: "Flux",
        name,
        version,
        namespace: where?.name,
        namespacePlace: where?.place,
        place,
        missing,
      },
      [...taken, valuesAt(doc, ["spec", "values"]) ?? none],
      said && placeOf(said.at, said.path),
    ),
  ];
}

/**
 * The file from which kustomize makes a key of a ConfigMap (kustomize, api/types/kvpairsources.go:
 * `values.yaml=./helm/values.yaml`).
 */
function generatedFrom(
  doc: Doc,
  name: string,
  key: string,
  docs: Doc[],
): { file: string; by: Doc } | undefined {
  const fileOf = ({ root }: Doc): string | undefined =>
    listAt(root, "configMapGenerator")
      .filter((one) => one["name"] === name && Array.isArray(one["files"]))
      .flatMap((one) => (one["files"] as unknown[]).map(String))
      .map((file) => /^(?:([^=]+)=)?(.*?([^/]+))$/.exec(file))
      .find((of) => (of?.[1] ?? of?.[3]) === key)?.[2];
  const by = namedBy(
    doc,
    docs.filter((one) => fileOf(one) !== undefined),
  );
  return by && { file: fileOf(by)!, by };
}
