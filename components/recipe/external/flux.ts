import type { ExternalMissingSpec } from "../spec/index";
import { chartNamed, isOfOthers, releaseIn } from "./chart";
import { noValues, placeOf, indexOf, textAt, valuesAt, type Doc, type Values } from "./document";
import { listAt, mergeAsHelm, valueAt } from "../mapping";
import { filesIn, isKustomization, namespaceOf, parts } from "./namespace";
import { folderOf, namedBy, release, valuesOf, type OutsideRelease } from "./release";

/**
 * Reads a HelmRelease. A HelmRelease without a chart is a kustomize patch of another HelmRelease; the result is then
 * the patched release.
 */
export function releasesOfHelmRelease(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const releases = releasesOfFlux(doc, docs);
  if (releases.length === 0) return [];
  const name = textAt(doc.root, "metadata", "name");
  const namesakes = indexOf(docs).named("HelmRelease", name);
  const baseOf = (patch: Doc): Doc | undefined =>
    patchedBy(
      patch,
      namesakes.filter((candidate) => !isPatch(candidate)),
      docs,
    );
  if (!isPatch(doc))
    return namesakes.some((candidate) => isPatch(candidate) && baseOf(candidate) === doc)
      ? []
      : releases;
  const base = baseOf(doc);
  const baseRelease = base && releasesOfFlux(base, docs)[0];
  return releases.map((patchRelease) =>
    baseRelease === undefined
      ? {
          ...patchRelease,
          missing: [...patchRelease.missing, { kind: "HelmRelease", name: name ?? "" }],
        }
      : {
          ...baseRelease,
          ...patchRelease,
          missing: [...baseRelease.missing, ...patchRelease.missing],
          values: mergeAsHelm(baseRelease.values, patchRelease.values),
          places: { ...baseRelease.places, ...patchRelease.places },
        },
  );
}

const isPatch = ({ root }: Doc): boolean =>
  textAt(root, "spec", "chartRef", "name") === undefined &&
  textAt(root, "spec", "chart", "spec", "chart") === undefined;

/**
 * The HelmRelease that a patch changes. If kustomizations contain the patch, the HelmRelease must be in a file that
 * they include. If no kustomization contains the patch, every HelmRelease of `bases` is a candidate. `namedBy` chooses
 * among several candidates.
 */
function patchedBy(patch: Doc, bases: Doc[], docs: Doc[]): Doc | undefined {
  const kustomizations = docs.filter(isKustomization);
  const patchingKustomizations = kustomizations.filter((kustomization) =>
    filesIn(kustomization, ["patches", "patchesStrategicMerge"]).includes(patch.place.file),
  );
  const includedFiles = new Set<string>();
  const includeFile = (file: string): void => {
    if (includedFiles.has(file)) return;
    includedFiles.add(file);
    for (const kustomization of kustomizations.filter((candidate) => folderOf(candidate) === file))
      filesIn(kustomization, parts).forEach(includeFile);
  };
  for (const kustomization of patchingKustomizations)
    filesIn(kustomization, parts).forEach(includeFile);
  return namedBy(
    patch,
    patchingKustomizations.length === 0
      ? bases
      : bases.filter(({ place }) => includedFiles.has(place.file)),
  );
}

function releasesOfFlux(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const { root, place } = doc;
  const objectName = textAt(root, "metadata", "name");
  const chartPath = ["spec", "chart", "spec"];
  const refName = textAt(root, "spec", "chartRef", "name");
  const objectNamed = (kind: unknown, name: string | undefined): Doc | undefined =>
    namedBy(doc, indexOf(docs).named(kind, name));
  const source = objectNamed(valueAt(root, "spec", "chartRef", "kind"), refName);
  const chart = chartNamed(
    textAt(root, ...chartPath, "chart"),
    textAt(source?.root, "spec", "url"),
    textAt(source?.root, "spec", "chart"),
    refName,
    textAt(root, "spec", "releaseName"),
    objectName,
  );
  if (chart === undefined || isOfOthers(textAt(root, ...chartPath, "sourceRef", "name"))) return [];
  const versionSource = [
    { doc, path: [...chartPath, "version"] },
    ...["spec.ref.tag", "spec.ref.semver", "spec.version"].flatMap((path) =>
      source ? [{ doc: source, path: path.split(".") }] : [],
    ),
  ].find((candidate) => textAt(candidate.doc.root, ...candidate.path) !== undefined);
  const version =
    versionSource && releaseIn(textAt(versionSource.doc.root, ...versionSource.path), chart);
  const target = textAt(root, "spec", "targetNamespace");
  const missing: ExternalMissingSpec[] =
    refName === undefined || source
      ? []
      : [{ kind: textAt(root, "spec", "chartRef", "kind") ?? "chart", name: refName }];
  const valuesFrom = listAt(root, "spec", "valuesFrom").map((reference): Values => {
    const [kind, name] = [textAt(reference, "kind") ?? "", textAt(reference, "name") ?? ""];
    const holder = objectNamed(kind, name);
    const key = textAt(reference, "valuesKey") ?? "values.yaml";
    const generated =
      kind === "ConfigMap" && reference["targetPath"] === undefined
        ? generatedFrom(doc, name, key, docs)
        : undefined;
    if (generated !== undefined)
      return valuesOf(generated.file, generated.generator, docs, missing);
    const referencedValues =
      holder === undefined || reference["targetPath"] !== undefined
        ? undefined
        : valuesAt(holder, ["data", key]);
    if (referencedValues === undefined) missing.push({ kind, name });
    return referencedValues ?? noValues;
  });
  const name =
    textAt(root, "spec", "releaseName") ??
    (target && objectName ? `${target}-${objectName}` : objectName);
  const targetNamespace = target === undefined ? namespaceOf(doc, docs) : { name: target, place };
  return [
    release(
      {
        chart,
        by: "Flux",
        name,
        version,
        namespace: targetNamespace?.name,
        namespacePlace: targetNamespace?.place,
        place,
        missing,
      },
      [...valuesFrom, valuesAt(doc, ["spec", "values"]) ?? noValues],
      versionSource && placeOf(versionSource.doc, versionSource.path),
    ),
  ];
}

/**
 * The file whose content kustomize writes into a key of a generated ConfigMap (kustomize, api/types/kvpairsources.go:
 * `values.yaml=./helm/values.yaml`).
 */
function generatedFrom(
  doc: Doc,
  name: string,
  key: string,
  docs: Doc[],
): { file: string; generator: Doc } | undefined {
  const fileOf = ({ root }: Doc): string | undefined =>
    listAt(root, "configMapGenerator")
      .filter((entry) => entry["name"] === name && Array.isArray(entry["files"]))
      .flatMap((entry) => (entry["files"] as unknown[]).map(String))
      .map((file) => /^(?:([^=]+)=)?(.*?([^/]+))$/.exec(file))
      .find((match) => (match?.[1] ?? match?.[3]) === key)?.[2];
  const generator = namedBy(
    doc,
    docs.filter((candidate) => fileOf(candidate) !== undefined),
  );
  return generator ? { file: fileOf(generator)!, generator } : undefined;
}
