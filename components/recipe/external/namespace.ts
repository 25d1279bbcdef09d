import { posix } from "node:path";
import { listOf, asText, isMapping } from "../mapping";
import { type Doc, type Place, placeOf, textAt } from "./document";
import { folderOf } from "./release";

/** A namespace, and its place in a file. */
export interface StatedNamespace {
  name: string;
  place: Place;
}

/**
 * The namespace that an object of Flux' has in the cluster. First counts `targetNamespace` of the Flux Kustomization
 * that applies the object's file. Then counts `namespace` of the outermost kustomization that includes the file and
 * sets a namespace, and last the object's own namespace. Source: fluxcd/kustomize-controller,
 * api/v1/kustomization_types.go (TargetNamespace); kubernetes-sigs/kustomize, namespace transformer.
 */
export function namespaceOf(doc: Doc, docs: readonly Doc[]): StatedNamespace | undefined {
  const target = targetOf(doc, docs.filter(isOfFlux));
  if (target !== undefined) return target;
  return outermost(doc, docs.filter(isKustomization)) ?? statedAt(doc, ["metadata", "namespace"]);
}

/** Whether a document is a kustomization, which may lack a kind. */
export const isKustomization = ({ root, place }: Doc): boolean =>
  (root["kind"] === "Kustomization" && !isOfFlux({ root })) ||
  (root["kind"] === undefined && /(?:^|\/)kustomization\.ya?ml$/i.test(place.file));

/** Lists of a kustomization with the files and folders that it includes. */
export const parts = ["resources", "bases", "components"];

/** Files and folders in lists of a kustomization. */
export const filesIn = (kustomization: Doc, keys: string[]): string[] =>
  keys
    .flatMap((key) => listOf(kustomization.root[key]))
    .map((entry) =>
      posix
        .join(folderOf(kustomization), asText(isMapping(entry) ? entry["path"] : entry))
        .replace(/\/$/, ""),
    );

const isOfFlux = ({ root }: Pick<Doc, "root">): boolean =>
  asText(root["apiVersion"]).startsWith("kustomize.toolkit.fluxcd.io/");

function statedAt(doc: Doc, path: string[]): StatedNamespace | undefined {
  const name = textAt(doc.root, ...path);
  return name === undefined ? undefined : { name, place: placeOf(doc, path) };
}

/**
 * Namespace of the Flux Kustomization whose path is nearest above the file. Undefined if several are, and their
 * namespaces differ.
 */
function targetOf(doc: Doc, kustomizations: Doc[]): StatedNamespace | undefined {
  const folder = stepsOf(folderOf(doc));
  const kustomizationsAbove = kustomizations.flatMap((kustomization) => {
    const depth = depthBelow(folder, stepsOf(textAt(kustomization.root, "spec", "path") ?? ""));
    return depth === undefined ? [] : [{ kustomization, depth }];
  });
  const nearest = Math.min(...kustomizationsAbove.map(({ depth }) => depth));
  const targetNamespaces = kustomizationsAbove
    .filter(({ depth }) => depth === nearest)
    .map(({ kustomization }) => statedAt(kustomization, ["spec", "targetNamespace"]));
  return new Set(targetNamespaces.map((target) => target?.name)).size === 1
    ? targetNamespaces[0]
    : undefined;
}

/**
 * Steps of a path without `..`: a file's name begins in the stack's folder, but a Kustomization's path begins in the
 * repository.
 */
const stepsOf = (path: string): string[] =>
  posix
    .normalize(path)
    .split("/")
    .filter((step) => step !== "" && step !== "." && step !== "..");

/**
 * Number of folders between a folder and a second folder above it; undefined if the first is not below the second.
 * Either path may begin further up than the other: a file's name may be absolute, or begin in a folder of the
 * repository.
 */
function depthBelow(folder: string[], parentFolder: string[]): number | undefined {
  const isPrefixAt = (start: number): boolean =>
    parentFolder.every((step, index) => folder[start + index] === step);
  const starts = folder.map((_, start) => start).filter(isPrefixAt);
  if (parentFolder.length > 0 && starts.length > 0)
    return folder.length - parentFolder.length - starts.at(-1)!;
  // The name of a file next to the stack file contains no folders.
  const endsInParent = folder.every(
    (step, index) => parentFolder.at(index - folder.length) === step,
  );
  return endsInParent ? 0 : undefined;
}

/**
 * Namespace of the outermost kustomization that includes a document's file, directly or through other kustomizations,
 * and sets a namespace.
 */
function outermost(doc: Doc, kustomizations: Doc[]): StatedNamespace | undefined {
  const visited = new Set<Doc>();
  let namespace: StatedNamespace | undefined;
  let names = [doc.place.file, folderOf(doc)];
  for (;;) {
    const holder = kustomizations.find((candidate) => {
      const lists = filesIn(candidate, parts);
      return !visited.has(candidate) && names.some((name) => lists.includes(name));
    });
    if (holder === undefined) return namespace;
    visited.add(holder);
    namespace = statedAt(holder, ["namespace"]) ?? namespace;
    names = [holder.place.file, folderOf(holder)];
  }
}
