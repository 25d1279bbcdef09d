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
 * The namespace that an object in a Flux repository gets in the cluster. It is the first of these that is set:
 * `targetNamespace` of the Flux Kustomization that applies the object's file; `namespace` of the outermost
 * kustomization that includes the file and sets a namespace; the object's own namespace. Source:
 * fluxcd/kustomize-controller, api/v1/kustomization_types.go (TargetNamespace); kubernetes-sigs/kustomize, namespace
 * transformer.
 */
export function namespaceOf(doc: Doc, docs: readonly Doc[]): StatedNamespace | undefined {
  const target = targetOf(doc, docs.filter(isOfFlux));
  if (target !== undefined) return target;
  return outermost(doc, docs.filter(isKustomization)) ?? statedAt(doc, ["metadata", "namespace"]);
}

/** Whether a document is a kustomization of kustomize. Such a document may lack a `kind`. */
export const isKustomization = ({ root, place }: Doc): boolean =>
  (root["kind"] === "Kustomization" && !isOfFlux({ root })) ||
  (root["kind"] === undefined && /(?:^|\/)kustomization\.ya?ml$/i.test(place.file));

/** Keys of a kustomization that list the files and folders that it includes. */
export const parts = ["resources", "bases", "components"];

/** Files and folders that a kustomization lists under these keys. */
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
 * `targetNamespace` of the Flux Kustomization whose path is the nearest folder above the file. Undefined if several
 * Flux Kustomizations have this path and their namespaces differ.
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
 * Folders of a path. `..` is left out, because a file's name is relative to the stack's folder, but a Flux
 * Kustomization's path is relative to the repository.
 */
const stepsOf = (path: string): string[] =>
  posix
    .normalize(path)
    .split("/")
    .filter((step) => step !== "" && step !== "." && step !== "..");

/**
 * How many levels a folder is below `parentFolder`: 0 for `parentFolder` itself, undefined for a folder outside of it. The two paths may begin at
 * different folders: a file's name may be absolute, or relative to a folder of the repository.
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
