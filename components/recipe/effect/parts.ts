import { mainDocument } from "../merge/documents";
import { wantedOf } from "../merge/wanted";
import { isMapping } from "../mapping";
import { remember } from "../memory";
import { shortHash } from "../short-hash";
import { canonical } from "../stack/plain-data";

/** Keys of the main document that one part of a configuration is told by: `machine.kernel.modules`. */
const depth = 3;

/** What patches say of a configuration, part by part: `machine.files`, `machine.sysctls.vm.swappiness`, `KmsgLogConfig/remote`. */
export function partsOf(patches: string[]): Map<string, unknown> {
  const parts = new Map<string, unknown>();
  const take = (value: unknown, path: string[]): void => {
    if (isMapping(value) && path.length < depth && Object.keys(value).length > 0) {
      for (const [key, inner] of Object.entries(value)) take(inner, [...path, key]);
    } else if (path.length > 0) parts.set(path.join("."), value);
  };
  for (const [name, document] of wantedOf(patches)) {
    if (name === mainDocument) take(document, []);
    else parts.set(name, document);
  }
  return parts;
}

/** Machines of a kind have the same patches. */
const known = new Map<string, Record<string, string>>();

/**
 * The same with a hash in place of each value: enough to see that something changes, without saying it all again. Neither
 * comments nor the order of keys count, as they do not for Talos. Nobody changes what it gives.
 */
export function partHashes(patches: string[]): Record<string, string> {
  const key = patches.join("\n---\n");
  let hashes = known.get(key);
  if (hashes === undefined) remember(known, key, (hashes = hashesOf(patches)));
  return hashes;
}

function hashesOf(patches: string[]): Record<string, string> {
  const hashes = [...partsOf(patches)].map(([part, value]): [string, string] => [
    part,
    shortHash(JSON.stringify(canonical({ value })), 8),
  ]);
  return Object.fromEntries(hashes.sort(([a], [b]) => (a < b ? -1 : 1)));
}
