import * as semver from "semver";
import type { Step } from "./added";
import { lists } from "../facts/data/since.json";

const keys: Record<string, Record<string, string> | undefined> = lists.keys;
const replaced: Record<string, string[] | undefined> = lists.replaced;
const replacedSince: Record<string, Record<string, string> | undefined> = lists.replacedSince;

/**
 * Whether a later value of a field takes the place of the whole earlier one. The value of an argument does, be it one text or a list
 * (talos v1.13.9, v1alpha1_types.go, Args.Merge); before 1.13 it is one text.
 *
 * @param document name of the document, e.g. `NetworkRuleConfig/kubelet`.
 * @param release Talos release whose rules count. Default: those of the newest.
 */
export function isReplaced(document: string, path: Step[], release?: string): boolean {
  const [kind, field] = [kindOf(document), fieldOf(path)];
  const since = replacedSince[kind]?.[field];
  if (since !== undefined) return release === undefined || semver.gte(release, since);
  return path.at(-2) === "extraArgs" || (replaced[kind] ?? []).includes(field);
}

const kindOf = (document: string): string => document.replace(/\/.*$/s, "");

/** A path without which item of a list it goes through. */
const fieldOf = (path: Step[]): string =>
  path
    .map((step) => (typeof step === "string" ? `.${step}` : "[]"))
    .join("")
    .slice(1);

/** Key of the items of a list; undefined when they have none, and are compared as a whole. */
export const keyOfList = (document: string, path: Step[]): string | undefined =>
  keys[kindOf(document)]?.[fieldOf(path)];

/** Lists whose items are one thing and never merged: a file, which is equal or in conflict, and what `isReplacedItem` knows. */
export const isWhole = (document: string, path: Step[]): boolean =>
  (path[0] === "machine" && path[1] === "files") || isReplacedItem(document, path);

/** Lists in which a later item replaces the earlier one with its key (talos v1.13.9, security/image_verification.go, Merge). */
export const isReplacedItem = (document: string, path: Step[]): boolean =>
  kindOf(document) === "ImageVerificationConfig" && fieldOf(path) === "rules";
