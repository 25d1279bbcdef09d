import * as semver from "semver";
import type { Step } from "./added";
import { lists } from "../facts/data/since.json";

const keys: Record<string, Record<string, string> | undefined> = lists.keys;
const replaced: Record<string, string[] | undefined> = lists.replaced;
const replacedSince: Record<string, Record<string, string> | undefined> = lists.replacedSince;

/**
 * Whether Talos replaces the whole value of a field when it merges a patch, and does not merge the two values. An
 * example is an item of `extraArgs`: a text or, from Talos 1.13 on, a list (talos v1.13.9, v1alpha1_types.go,
 * Args.Merge).
 *
 * @param document name of the document, e.g. `NetworkRuleConfig/kubelet`.
 * @param release Talos release whose rules apply. Default: the newest.
 */
export function isReplaced(document: string, path: Step[], release?: string): boolean {
  const [kind, field] = [kindOf(document), fieldOf(path)];
  const since = replacedSince[kind]?.[field];
  if (since !== undefined) return release === undefined || semver.gte(release, since);
  return path.at(-2) === "extraArgs" || (replaced[kind] ?? []).includes(field);
}

const kindOf = (document: string): string => document.replace(/\/.*$/s, "");

/** A path in which `[]` stands for any item of a list. */
const fieldOf = (path: Step[]): string =>
  path
    .map((step) => (typeof step === "string" ? `.${step}` : "[]"))
    .join("")
    .slice(1);

/** Key whose value identifies an item of a list; undefined if whole items are compared. */
export const keyOfList = (document: string, path: Step[]): string | undefined =>
  keys[kindOf(document)]?.[fieldOf(path)];

/**
 * Whether the items of a list are never merged: those of `machine.files`, which are either equal or in conflict, and
 * those of `isReplacedItem`.
 */
export const isWhole = (document: string, path: Step[]): boolean =>
  (path[0] === "machine" && path[1] === "files") || isReplacedItem(document, path);

/**
 * Whether a later item of a list replaces the earlier item with the same key (talos v1.13.9,
 * security/image_verification.go, Merge).
 */
export const isReplacedItem = (document: string, path: Step[]): boolean =>
  kindOf(document) === "ImageVerificationConfig" && fieldOf(path) === "rules";
