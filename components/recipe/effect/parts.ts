import { isDeepStrictEqual } from "node:util";
import { customizationPath } from "../machine/containerd/containerd";
import { mainDocument } from "../merge/documents";
import { wantedOf } from "../merge/wanted";
import { canonical, isMapping, valueAt } from "../mapping";
import { remembering } from "../memory";
import { shortHash } from "../short-hash";
import { containerdFile } from "./update-effect";

/** Greatest number of keys in the name of a part of the main document: `machine.kernel.modules` has three. */
const depth = 3;

/**
 * Parts of a configuration that patches set, by name: `machine.files`, `machine.sysctls.vm.swappiness`,
 * `KmsgLogConfig/remote`.
 */
export const partsOf = (patches: string[]): Map<string, unknown> =>
  new Map([...wantedOf(patches)].flatMap(([name, value]) => partsOfDocument(name, value)));

/**
 * The parts of a document: in the main document the values at paths of at most `depth` keys, any other document as a
 * whole.
 */
const partsOfDocument = (name: string, value: unknown): [part: string, value: unknown][] =>
  name === mainDocument ? partsBelow(value, []) : [[name, value]];

function partsBelow(value: unknown, path: string[]): [part: string, value: unknown][] {
  if (isMapping(value) && path.length < depth && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([key, inner]) => partsBelow(inner, [...path, key]));
  if (path.join(".") === "machine.files" && Array.isArray(value)) return partsOfFiles(value);
  return path.length > 0 ? [[path.join("."), value]] : [];
}

/**
 * Splits `machine.files` into containerd's settings and all other files, because Talos applies these two in different
 * ways.
 */
function partsOfFiles(items: unknown[]): [part: string, value: unknown][] {
  const isContainerds = (item: unknown): boolean => valueAt(item, "path") === customizationPath;
  const groups: [string, unknown[]][] = [
    [containerdFile, items.filter(isContainerds)],
    ["machine.files", items.filter((item) => !isContainerds(item))],
  ];
  return groups.filter(([, group]) => group.length > 0);
}

/** Names of the parts in which two configurations differ. A configuration is one or more documents. */
export function changedParts(before: string, after: string): string[] {
  const [previousParts, nextParts] = [partsOf([before]), partsOf([after])];
  return [...new Set([...previousParts.keys(), ...nextParts.keys()])].filter(
    (part) => !isDeepStrictEqual(previousParts.get(part), nextParts.get(part)),
  );
}

/**
 * Hash of each part of a configuration, by the part's name. A hash shows a change without the part's content. Comments
 * and the order of keys do not affect the hash, since Talos ignores them.
 */
export const partHashes = remembering((patches: string[]): Record<string, string> =>
  Object.fromEntries(
    [...partsOf(patches)]
      .map(([part, value]): [string, string] => [
        part,
        shortHash(JSON.stringify(canonical({ value })), 8),
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  ),
);
